"""Perform one step and say what happened. This is the only code that asks a model anything."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct

from hermes.agent.permit import Permit
from hermes.agent.prompt import Prompt
from hermes.agent.question import CHANGED, Asker
from hermes.core.channel import Considered
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
    ModelAnswered,
    PromptMade,
    TurnEnded,
)
from hermes.core.ids import ReplyId
from hermes.core.messages import Call, Line, Media, Outcome, Reply, Spent, sound
from hermes.core.ports import (
    Answer,
    Bench,
    Compactor,
    Provider,
    RawCall,
    Request,
    Tool,
    ToolResult,
    ToolSpec,
)
from hermes.core.session import Session, Turn, call_id
from hermes.core.signals import Glimpse, Watch
from hermes.core.step import Compact
from hermes.core.store import MediaShelf, Texts
from hermes.core.transcript import LOST

RESULT_CHARS_MAX = 200_000  # tools bound their own output; this bounds a tool that does not
IMAGES_MAX = 20
OVERFLOWS_MAX = 3  # in a row, for one question
CUT = "\n\n[The answer ends here because the model reached its output limit.]"
DESCRIBE = "Say in one short sentence what this picture shows."
FILTERED = "The provider withheld this answer by its content filter."


class Agent(Struct, frozen=True, kw_only=True):
    provider: Provider
    chosen: Callable[[str], Provider]  # the model that a session was told to use
    repaired: Callable[[RawCall, Mapping[str, ToolSpec]], tuple[str, str, str]]
    tools: Mapping[str, Tool]
    compose: Callable[[Session, bool], Awaitable[Prompt]]  # what a new conversation is told first
    texts: Texts
    small: Callable[[], Provider]  # for small things
    window: Callable[[Session], int]  # what the session's model can read; 0: unknown
    compactor: Callable[[], Compactor]
    media: MediaShelf
    permit: Permit
    asker: Asker
    clock: Callable[[], float]

    def specs(self, turn: Turn) -> tuple[ToolSpec, ...]:
        every = turn.origin != "review"
        return tuple(tool.spec for tool in self.tools.values() if every or tool.reviews)

    async def ask(
        self, session: Session, turn: Turn, lines: Sequence[Line], watch: Watch
    ) -> tuple[Event, ...]:
        """The model's answer, or the end of a turn whose model cannot be asked. `lines` are as a
        request needs them."""
        system = await self.texts.text(session.facts.get("prompt", ""))
        request = Request(
            system=(await self.composed(session)).text if system is None else system,
            lines=tuple(lines),
            tools=self.specs(turn),
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
        return (self._answered(turn, answer, provider.name),)

    async def composed(self, session: Session) -> Prompt:
        """With what is the owner's, where nobody else reads along."""
        return await self.compose(session, self.permit.is_owners(session))

    async def keep(self, prompt: Prompt) -> PromptMade:
        """The conversation's prompt: the same bytes from now on, whatever becomes of the files that
        it was made of. Raises StoreFailed."""
        digest = await self.texts.keep(sound(prompt.text))
        return PromptMade(digest, self.clock(), prompt.labels)

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
        request = Request(system=task, lines=(Line(role="user", text=text),))
        return await self._considered(self.small(), purpose, request)

    async def run(self, bench: Bench) -> tuple[Event, ...]:
        """Make the call. Whatever goes wrong in a tool becomes a result that the model reads."""
        tool = self.tools[bench.call.tool]
        if bench.approved and bench.approved != await self.asker.digest(bench.call, bench.facts):
            return (self._ended(bench, ToolResult(text=CHANGED, outcome=Outcome.DENIED)),)
        try:
            result = await tool.run(bench)
        except ToolFailed as failure:
            result = ToolResult(text=str(failure), outcome=Outcome.FAILED)
        return (self._ended(bench, result),)

    async def seek(self, bench: Bench) -> tuple[Event, ...]:
        """Look for the outcome of a call whose process is gone (C24), else say unknown (C23)."""
        seek = self.tools[bench.call.tool].seek
        try:
            result = await seek(bench) if seek is not None else None
        except ToolFailed as failure:
            result = ToolResult(text=f"{LOST} ({failure})", outcome=Outcome.UNKNOWN)
        return (self._ended(bench, result or ToolResult(text=LOST, outcome=Outcome.UNKNOWN)),)

    def broke(self, bench: Bench, error: Exception) -> tuple[Event, ...]:
        """The tool itself is at fault. Nobody can say how far it came."""
        text = f"The tool broke ({type(error).__name__}: {error}). {LOST}"
        return (self._ended(bench, ToolResult(text=text, outcome=Outcome.UNKNOWN)),)

    def gave_up(self, session: Session, turn: Turn, error: Exception) -> tuple[Event, ...]:
        """Asking the model failed in a way that nobody foresaw."""
        failure = ProviderFailed(f"{type(error).__name__}: {error}.")
        return (self._failed(session, turn, failure),)

    async def stop(self, bench: Bench) -> None:
        """A person stopped the turn: what runs detached for it ends too."""
        tool = self.tools.get(bench.call.tool)
        if tool is not None and tool.stop is not None:
            await tool.stop(bench)

    async def describe(self, media: Media) -> Considered | None:
        """An image in a few words; nothing when it or the model is not to be had."""
        content = await self.media.get(media)
        if content is None:
            return None
        lines = (Line(role="user", text=DESCRIBE, media=(media,)),)
        request = Request(system="", lines=lines, blobs={media.digest: content})
        try:
            return await self._considered(self.provider, "vision", request)
        except ProviderFailed:
            return None

    async def _considered(self, provider: Provider, purpose: str, request: Request) -> Considered:
        answer = await provider.ask(request, _unwatched)
        model = answer.model or provider.name
        spent = Spent(purpose=purpose, model=model, usage=answer.usage)
        return Considered(text=sound(answer.text).strip(), spent=spent)

    def _can_shrink(self, session: Session) -> bool:
        """Not for ever, and not when it has just failed."""
        tried = session.compaction
        return tried.overflows < OVERFLOWS_MAX and self.clock() >= tried.not_before

    def _provider(self, session: Session) -> Provider:
        name = session.facts.get("model", "")
        return self.chosen(name) if name else self.provider

    def _answered(self, turn: Turn, answer: Answer, model: str) -> ModelAnswered:
        calls = tuple(self._call(turn, n, raw) for n, raw in enumerate(answer.calls, start=1))
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
        )

    def _call(self, turn: Turn, n: int, raw: RawCall) -> Call:
        """A call under an id of ours, with what is wrong with it, if anything is."""
        known = {spec.name: spec for spec in self.specs(turn)}
        tool, arguments, fault = self.repaired(raw, known)
        if not fault:
            fault = self.tools[tool].check(arguments)
        return Call(id=call_id(turn, n), tool=tool, arguments=arguments, fault=fault)

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
            replaces=turn.draft,
        )
        return TurnEnded(turn.id, "failed", self.clock(), (reply,))

    def _ended(self, bench: Bench, result: ToolResult) -> CallEnded:
        text = sound(result.text)
        if len(text) > RESULT_CHARS_MAX:
            text = text[:RESULT_CHARS_MAX] + f"\n[{len(text) - RESULT_CHARS_MAX} more characters]"
        return CallEnded(
            turn=bench.turn,
            call=bench.call.id,
            outcome=result.outcome,
            text=text,
            at=self.clock(),
            facts=result.facts,
            labels=(*result.labels, *self.permit.labels(bench.call, bench.facts)),
            spent=result.spent,
        )


async def _blobs(shelf: MediaShelf, lines: Sequence[Line]) -> Mapping[str, bytes]:
    """The latest images of the conversation; older ones are named in the text only."""
    wanted = [media for line in lines for media in line.media][-IMAGES_MAX:]
    found = {media.digest: await shelf.get(media) for media in wanted}
    return {digest: content for digest, content in found.items() if content is not None}


def _unwatched(_glimpse: Glimpse) -> None:
    """For a question of our own."""
