"""Perform one step and say what happened. This is the only code that asks a model anything."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.offer import ToolOffer, model_of
from hermes.agent.permit import SHARES, Permit, gone
from hermes.agent.prompt import PLAIN, Prompt
from hermes.agent.question import CHANGED, Asker
from hermes.core.announced import announces_act
from hermes.core.channel import Considered
from hermes.core.child_sessions import last_words
from hermes.core.draft import in_place_of_draft
from hermes.core.errors import (
    ContextOverflow,
    HermesError,
    Misconfigured,
    ProviderFailed,
    ToolFailed,
)
from hermes.core.events import (
    CallEnded,
    CompactionAsked,
    Event,
    GoalJudged,
    ModelAnswered,
    PromptMade,
    TurnEnded,
)
from hermes.core.goals import TASK, judged_text, verdict_in
from hermes.core.ids import ReplyId
from hermes.core.messages import Call, Line, Media, Outcome, Reply, Spent, TurnOptions, sound
from hermes.core.policy import PRIVATE, UNTRUSTED
from hermes.core.ports import (
    Answer,
    Compactor,
    ModelRequest,
    Provider,
    ToolContext,
    ToolResult,
    Toolset,
    ToolSpec,
)
from hermes.core.session import Session, Turn
from hermes.core.signals import Glimpse, Watch
from hermes.core.steps import Compact
from hermes.core.store import MediaStore, TextStore
from hermes.core.transcript import LOST
from hermes.views.call_line import compact

RESULT_CHARS_MAX = 200_000  # tools bound their own output; this bounds a tool that does not
IMAGES_MAX = 20
OVERFLOWS_MAX = 3  # in a row, for one question
CUT = "\n\n[The answer ends here because the model reached its output limit.]"
DESCRIBE = "Say in one short sentence what this picture shows."
FILTERED = "The provider withheld this answer by its content filter."


async def leave_nothing(_options: TurnOptions) -> None:
    """A model that answers requests has nothing to leave."""


class Agent(Struct, frozen=True, kw_only=True):
    provider: Provider
    chosen: Callable[[str], Provider]  # the model that a session was told to use
    tools: Toolset
    offer: ToolOffer
    compose: Callable[[Session, bool], Awaitable[Prompt]]  # what a new conversation is told first
    texts: TextStore
    small: Callable[[], Provider]  # for small things
    window: Callable[[Session], int]  # what the session's model can read; 0: unknown
    compactor: Callable[[], Compactor]
    media: MediaStore
    permit: Permit
    asker: Asker
    clock: Callable[[], float]
    leave: Callable[[TurnOptions], Awaitable[None]] = (
        leave_nothing  # the model of a turn that is over
    )

    async def ask(
        self, session: Session, turn: Turn, lines: Sequence[Line], watch: Watch
    ) -> tuple[Event, ...]:
        """The model's answer, or the end of a turn whose model cannot be asked. `lines` are as a
        request needs them."""
        system = await self.texts.text(session.facts.prompt)
        specs = await self.offer.kept(session, turn)
        request = ModelRequest(
            system=(await self.composed(session)).text if system is None else system,
            lines=tuple(lines),
            tools=specs,
            blobs=await _blobs(self.media, lines),
        )
        try:
            provider = self._provider(session)
            answer = await provider.ask(request, watch)
        except ContextOverflow as failure:
            if self._can_shrink(session):
                return (CompactionAsked(self.clock()),)
            return (self._failed(session, turn, failure),)
        except (ProviderFailed, Misconfigured) as failure:
            return (self._failed(session, turn, failure),)
        calls = self.offer.calls(session, turn, answer.calls, specs)
        made = self._answered(turn, answer, provider.name, calls)
        may = bool(specs) and not calls and not turn.options.scripted
        acts = may and answer.finish == "stop" and announces_act(made.text)
        return (replace(made, announces=True) if acts else made,)

    async def composed(self, session: Session) -> Prompt:
        """With what is the owner's, where nobody else reads along."""
        if session.turn is not None and session.turn.options.scripted:
            return PLAIN
        return await self.compose(session, self.permit.is_owners(session))

    async def keep(self, prompt: Prompt, tools: tuple[ToolSpec, ...] | None) -> PromptMade:
        """The conversation's prompt and its list of tools: the same bytes from now on, whatever
        becomes of the files and servers that they were made of. Raises StoreFailed."""
        digest = await self.texts.keep(sound(prompt.text))
        kept = await self.offer.keep(tools) if tools is not None else ""
        return PromptMade(digest, self.clock(), prompt.labels, prompt.sources, kept)

    async def compact(
        self, step: Compact, session: Session, lines: Sequence[Line], watch: Watch
    ) -> tuple[Event, ...]:
        try:
            own = self._provider(session)
            providers = (self.small(), own)
        except Misconfigured as wrong:
            return self.kept(step, session, wrong)
        asked = tuple(dict.fromkeys(providers))
        window = self.window(session)
        return await self.compactor().compact(step, session, lines, asked, window, watch)

    def kept(self, step: Compact, session: Session, error: Exception) -> tuple[Event, ...]:
        """Summing up failed in a way that nobody foresaw."""
        return (self.compactor().failed(step, session, f"{error}", ()),)

    async def consider(self, purpose: str, task: str, text: str) -> Considered:
        """One small question without tools. Raises a ProviderFailed."""
        request = ModelRequest(system=task, lines=(Line(role="user", text=text),))
        return await self._considered(self.small(), purpose, request)

    async def judge(self, session: Session, lines: Sequence[Line]) -> tuple[Event, ...]:
        """Ask the small model whether the goal is reached, by the last turn's answer and calls."""
        assert session.goal is not None, "only a goal is judged"
        text = judged_text(session.goal, lines, session.facts.todo)
        try:
            found = await self.consider("goal", TASK, text)
        except (ProviderFailed, Misconfigured) as failure:
            return (GoalJudged("error", self.clock(), str(failure)),)
        verdict, why = verdict_in(found.text)
        unread = f"it said “{found.text[:100]}”" if verdict == "error" else why
        return (GoalJudged(verdict, self.clock(), unread, (found.spent,)),)

    async def run(self, context: ToolContext) -> tuple[Event, ...]:
        """Make the call. Whatever goes wrong in a tool becomes a result that the model reads."""
        tool = self.tools.find(context.call.tool)
        if tool is None or context.refused:
            why = context.refused or gone(context.call.tool)
            return (self.ended(context, ToolResult(text=why, outcome=Outcome.DENIED)),)
        if context.approved and context.approved != await self.asker.digest(
            context.call, context.facts
        ):
            return (self.ended(context, ToolResult(text=CHANGED, outcome=Outcome.DENIED)),)
        try:
            result = await tool.run(context)
        except ToolFailed as failure:
            result = ToolResult(text=str(failure), outcome=Outcome.FAILED)
        return (await _over_or_deferred(self, context, result),)

    async def recover(self, context: ToolContext) -> tuple[Event, ...]:
        """Look for the outcome of a call whose process is gone (C24), else say unknown (C23)."""
        tool = self.tools.find(context.call.tool)
        recover = tool.recover if tool is not None else None
        try:
            result = await recover(context) if recover is not None else None
        except ToolFailed as failure:
            result = ToolResult(text=f"{LOST} ({failure})", outcome=Outcome.UNKNOWN)
        result = result or ToolResult(text=LOST, outcome=Outcome.UNKNOWN)
        return (await _over_or_deferred(self, context, result),)

    def broke(self, context: ToolContext, error: Exception) -> tuple[Event, ...]:
        """The tool itself is at fault. Nobody can say how far it came."""
        text = f"The tool broke ({type(error).__name__}: {error}). {LOST}"
        return (self.ended(context, ToolResult(text=text, outcome=Outcome.UNKNOWN)),)

    def gave_up(self, session: Session, turn: Turn, error: Exception) -> tuple[Event, ...]:
        """Asking the model failed in a way that nobody foresaw."""
        failure = ProviderFailed(f"{type(error).__name__}: {error}.")
        return (self._failed(session, turn, failure),)

    async def stop(self, context: ToolContext) -> None:
        """A person stopped the turn: what runs detached for it ends too."""
        tool = self.tools.find(context.call.tool)
        if tool is not None and tool.stop is not None:
            await tool.stop(context)

    async def describe(self, media: Media) -> Considered | None:
        """An image in a few words; nothing when it or the model is not to be had."""
        content = await self.media.get(media)
        if content is None:
            return None
        lines = (Line(role="user", text=DESCRIBE, media=(media,)),)
        request = ModelRequest(system="", lines=lines, blobs={media.digest: content})
        try:
            return await self._considered(self.provider, "vision", request)
        except ProviderFailed:
            return None

    async def _considered(
        self, provider: Provider, purpose: str, request: ModelRequest
    ) -> Considered:
        answer = await provider.ask(request, _unwatched)
        model = answer.model or provider.name
        spent = Spent(purpose=purpose, model=model, usage=answer.usage)
        return Considered(text=sound(answer.text).strip(), spent=spent)

    def _can_shrink(self, session: Session) -> bool:
        """Not for ever, and not when it has just failed."""
        tried = session.compaction
        return tried.overflows < OVERFLOWS_MAX and self.clock() >= tried.not_before

    def _provider(self, session: Session) -> Provider:
        name = model_of(session)
        return self.chosen(name) if name else self.provider

    def _answered(
        self, turn: Turn, answer: Answer, model: str, calls: tuple[Call, ...]
    ) -> ModelAnswered:
        text = sound(answer.text)
        if answer.finish == "length" and not calls:
            text += CUT
        elif answer.finish == "filtered" and not calls and not text.strip():
            text = FILTERED
        return ModelAnswered(
            turn=turn.id,
            at=self.clock(),
            text=text,
            calls=calls,
            thoughts=answer.thoughts,
            usage=answer.usage,
            model=answer.model or model,
            outcome=answer.outcome,
        )

    def _failed(self, session: Session, turn: Turn, failure: HermesError) -> TurnEnded:
        advice = "Say it again to retry, or choose another model with /model."
        if isinstance(failure, ContextOverflow):
            advice = "Start a new conversation with /new, or choose a model that reads more."
        reply = Reply(
            id=ReplyId(f"{turn.id}/0"),
            session=session.key,
            address=turn.address,
            text=f"I could not ask the model: {failure} {advice}",
            kind="notice",
        )
        replies = (last_words(turn, in_place_of_draft(turn, reply), Outcome.FAILED),)
        return TurnEnded(turn.id, "failed", self.clock(), replies, str(failure))

    def ended(self, context: ToolContext, result: ToolResult) -> CallEnded:
        """Return the end of a call, with the labels of all that it may have read."""
        text = sound(result.text)
        if len(text) > RESULT_CHARS_MAX:
            text = text[:RESULT_CHARS_MAX] + f"\n[{len(text) - RESULT_CHARS_MAX} more characters]"
        labels = (*result.labels, *self.permit.labels(context.call, context.facts))
        shared = {SHARES: "yes"} if context.approved and PRIVATE in labels else {}
        return CallEnded(
            turn=context.turn,
            call=context.call.id,
            outcome=result.outcome,
            text=text,
            at=self.clock(),
            facts={**result.facts, **shared} if shared else result.facts,
            labels=labels,
            spent=result.spent,
            source=compact(context.call) if UNTRUSTED in labels else "",
            diff=sound(result.diff),
            pending=result.pending,
        )


async def _over_or_deferred(agent: Agent, context: ToolContext, result: ToolResult) -> Event:
    if result.deferred is not None:
        return await agent.asker.defer(context, result.deferred)
    return agent.ended(context, result)


async def _blobs(store: MediaStore, lines: Sequence[Line]) -> Mapping[str, bytes]:
    """The latest images of the conversation; older ones are named in the text only."""
    wanted = [media for line in lines for media in line.media][-IMAGES_MAX:]
    found = {media.digest: await store.get(media) for media in wanted}
    return {digest: content for digest, content in found.items() if content is not None}


def _unwatched(_glimpse: Glimpse) -> None:
    """For a question of our own."""


def goal_unjudged(error: Exception, at: float) -> tuple[Event, ...]:
    """Judging a goal failed for an unforeseen reason."""
    return (GoalJudged("error", at, f"{type(error).__name__}: {error}"),)
