"""Ask the owner about a call, and say what exactly the answer will be about."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from hermes.agent.permit import Permit
from hermes.core.channel import ButtonLimits
from hermes.core.child_sessions import CALL
from hermes.core.directory import place_of
from hermes.core.draft import in_place_of_draft
from hermes.core.events import CallDeferred, CallEnded, Event, QuestionAsked
from hermes.core.grants import Grant, canonical
from hermes.core.ids import ReplyId
from hermes.core.messages import LOOP, REPLY, Address, Call, Outcome, Reply, ReplyKind, sound
from hermes.core.people import Role
from hermes.core.policy import FAULTS, PRIVATE, SECRET, VERSION
from hermes.core.ports import Deferred, Presented, Tool, ToolContext, Toolset
from hermes.core.principal import Principal
from hermes.core.session import Session, Turn
from hermes.core.steps import AskPerson
from hermes.core.store import ChatRow, Home
from hermes.text.visible_text import both_ends
from hermes.views.cards import OTHER, CardContext, card, named

ANSWER = "Send this answer where others can read it?"
GO_ON = "Continue to answer this bot or auto-reply?"
HEAD_CHARS, TAIL_CHARS = 1_500, 500
CHANGED = (
    "This is not what the person said yes to: a file, a program, the directory or the rules have "
    "changed since. Nothing was run. Look again, and make the call again if it is still right."
)
_TITLES = {REPLY: ANSWER, LOOP: GO_ON}  # no tools: asked about all the same
NOBODY_THERE = (
    "There is no person to ask: none reads what is said here, and no home chat is set. Continue "
    "without an answer, and say what you assumed."
)
BY_NUMBER = "Reply with a number, or in your own words."
BY_COMMAND = "Answer with: /answer {} YOUR WORDS"
ELSEWHERE = "My owner has to allow that. I have asked, and will go on when I get an answer."
NOWHERE = "My owner has to allow that, with `hermes approvals list` on the machine that I run on."


class Asker(Struct, frozen=True, kw_only=True):
    tools: Toolset
    permit: Permit
    homes: Callable[[], Awaitable[Sequence[Home]]]  # where the owner is told things
    chats: Callable[[], Awaitable[Sequence[ChatRow]]]
    answer_s: float  # how long a question waits
    new_id: Callable[[], str]
    clock: Callable[[], float]
    buttons: Callable[[str], ButtonLimits | None] = lambda _platform: None

    async def ask(self, session: Session, turn: Turn, step: AskPerson) -> tuple[Event, ...]:
        """The owner, where they wanted it (which need not be where the answer goes); at home, when
        somebody else wanted it, or when others would read on the card what is private."""
        call, at = step.call, self.clock()
        tool = self.tools.find(call.tool)
        seen = await self._presented(call, session.remembered)
        id_, expires_at = self.new_id(), at + self.answer_s
        offers = self.permit.offers(session, turn, call, id_)
        always, for_session, for_folder = offers if call.tool != LOOP else (None, None, None)
        for_folder = for_folder if seen.whole else None
        role = self.permit.subject(session, turn).role
        about = CardContext(
            title=_TITLES.get(call.tool) or (tool.question if tool is not None else ""),
            why=step.why,
            role=role,
            at=at,
            expires_at=expires_at,
            profile=self.permit.box(call),
            always=always,
            session=for_session,
            folder=for_folder,
            zone=self.permit.audience(turn.address.platform) != "owner",
        )
        text = card(session, turn, call, seen, about)
        place = self.permit.ask_at(session, turn)
        here = role is Role.OWNER and not self._is_exposed(session, turn, call, place)
        here = here and call.tool != LOOP  # a program would answer the question, too
        if here and turn.address.platform == CALL:  # the session that waits for it passes it on
            place = turn.address
        home = place if here else await self._home()
        question, notices = _reply(session, turn, id_, NOWHERE, "question"), tuple[Reply, ...]()
        if home is not None:
            buttons = _buttons(id_, for_session, for_folder, always)
            question = msgspec.structs.replace(question, address=home, text=text, buttons=buttons)
        if home not in (None, turn.address):
            question = msgspec.structs.replace(question, replaces="", unseen=None)
            if call.tool != LOOP:
                notices = (_reply(session, turn, id_, ELSEWHERE, "notice"),)
        asked = QuestionAsked(
            turn=turn.id,
            call=call.id,
            question=question,
            at=at,
            id=id_,
            why=step.why,
            digest=digest_of(call, seen, self.permit.box(call)),
            expires_at=expires_at,
            notices=notices,
            offer=always,
            card=text if home is None else "",
            session_offer=for_session,
            folder_offer=for_folder,
        )
        return (asked,)

    async def defer(
        self, context: ToolContext, asked: Deferred
    ) -> QuestionAsked | CallDeferred | CallEnded:
        """Record that a call ends later. What its tool asks, the person behind the turn is asked
        where it speaks, and the answer is the result; where no person reads that, at home."""
        at, id_ = self.clock(), self.new_id()
        expires_at = at + asked.timeout_s if asked.timeout_s else 0.0
        if not asked.question:
            waits_for = sound(asked.waits_for)
            ends = (at, expires_at, waits_for, asked.parts)
            return CallDeferred(context.turn, context.call.id, *ends)
        place = await self._place(context)
        if place is None:
            text = NOBODY_THERE
            return CallEnded(context.turn, context.call.id, Outcome.FAILED, text, at)
        choices = tuple(map(sound, asked.choices))
        away = f"\n\n{BY_COMMAND.format(id_)}" if place != context.address else ""
        question = worded(sound(asked.question), choices, self.buttons(place.platform))
        reply = Reply(
            id=ReplyId(f"{context.call.id}/question"),
            session=context.session,
            address=place,
            text=question + away,
            kind="question",
            buttons=_choice_buttons(id_, choices),
        )
        return QuestionAsked(
            turn=context.turn,
            call=context.call.id,
            question=reply,
            at=at,
            id=id_,
            why=sound(asked.waits_for),
            expires_at=expires_at or at + self.answer_s,
            wants_text=True,
            choices=choices,
            asked=_asked_person(context.principal),
        )

    async def _place(self, context: ToolContext) -> Address | None:
        """Where a person reads what the turn asks; None where there is no such place."""
        wanted = (context.address, context.principal.ask)
        read = [at for at in wanted if at and self.permit.audience(at.platform) != "unattended"]
        return read[0] if read else await self._home()

    def broke(self, turn: Turn, step: AskPerson, error: Exception) -> tuple[Event, ...]:
        text = f"The owner has to allow this, and asking failed ({error}). Nothing was run."
        return (CallEnded(turn.id, step.call.id, Outcome.DENIED, text, self.clock()),)

    async def digest(self, call: Call, facts: Mapping[str, str]) -> str:
        """Of the call as it would run now."""
        seen = await self._presented(call, facts)
        return digest_of(call, seen, self.permit.box(call))

    def _is_exposed(self, session: Session, turn: Turn, call: Call, place: Address) -> bool:
        private = call.tool == REPLY or {PRIVATE, SECRET} & set(session.view.labels)
        return bool(private) and self.permit.is_shared(session, turn, place)

    async def _presented(self, call: Call, facts: Mapping[str, str]) -> Presented:
        if call.tool in _TITLES:
            return Presented(text=both_ends(_answer_in(call), HEAD_CHARS, TAIL_CHARS))
        tool = self.tools.find(call.tool)
        if tool is None:
            return Presented(text=both_ends(call.arguments, HEAD_CHARS, TAIL_CHARS))
        seen = await asyncio.to_thread(presented, tool, call, facts)
        if call.origin:
            seen = msgspec.structs.replace(seen, notes=(*seen.notes, call.origin))
        if tool.address is None:
            return seen
        return addressed(seen, tool, call, await self.chats(), await self.homes())

    async def _home(self) -> Address | None:
        homes = await self.homes()
        return homes[0].address if homes else None


def presented(tool: Tool, call: Call, facts: Mapping[str, str]) -> Presented:
    """May look at the disk."""
    if tool.present is None:
        return Presented(text=both_ends(call.arguments, HEAD_CHARS, TAIL_CHARS))
    try:
        return tool.present(call.arguments, facts)
    except (*FAULTS, OSError) as fault:
        text = both_ends(call.arguments, HEAD_CHARS, TAIL_CHARS)
        return Presented(text=text, notes=(f"I could not look at it closely: {fault}",))


def _answer_in(call: Call) -> str:
    return str(msgspec.json.decode(call.arguments, type=dict[str, str])["text"])


def addressed(
    seen: Presented, tool: Tool, call: Call, chats: Sequence[ChatRow], homes: Sequence[Home]
) -> Presented:
    """With the address that the call's chat has now: a yes is about that one."""
    try:
        found = tool.address(call.arguments, chats, homes) if tool.address is not None else None
    except FAULTS as fault:
        return msgspec.structs.replace(seen, notes=(*seen.notes, f"There is no such chat: {fault}"))
    if found is None:
        return seen
    where = place_of(found)
    bound = f"{seen.bound}\n{where}"
    notes = (*seen.notes, f"It goes to {named(where)}")
    return msgspec.structs.replace(seen, notes=notes, bound=bound)


def digest_of(call: Call, seen: Presented, profile: str) -> str:
    """The same for exactly this call, run by these programs, there, in that box, by these rules."""
    parts = [call.tool, canonical(call.arguments), seen.bound, profile, VERSION]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def _buttons(
    id_: str, for_session: Grant | None, for_folder: Grant | None, always: Grant | None
) -> tuple[tuple[str, str], ...]:
    offers = (
        ("Yes, for this session", "session", for_session),
        ("Yes, for this folder", "folder", for_folder),
        ("Always", "always", always),
    )
    more = [(label, f"/approve {id_} {word}") for label, word, grant in offers if grant is not None]
    return (("Yes", f"/approve {id_}"), *more, ("No", f"/deny {id_}"))


def worded(question: str, choices: Sequence[str], limits: ButtonLimits | None) -> str:
    """Return the question with its choices by number, where buttons cannot show them."""
    shown = limits is not None and all(len(each) <= limits.label_chars for each in choices)
    if not choices or shown:
        return question
    rows = [f"{number}. {choice}" for number, choice in enumerate(choices, start=1)]
    return "\n".join([question, "", *rows, "", BY_NUMBER])


def _choice_buttons(id_: str, choices: Sequence[str]) -> tuple[tuple[str, str], ...]:
    if not choices:
        return ()
    given = ((choice, f"/answer {id_} {n}") for n, choice in enumerate(choices, start=1))
    return (*given, (OTHER, f"/answer {id_} {OTHER.lower()}"))


def _asked_person(principal: Principal) -> str:
    """Return platform:id of the person behind a call; empty for what is the owner's process."""
    if principal.person is None or principal.spoke is None:
        return ""
    return f"{principal.spoke.platform}:{principal.person.id}"


def _reply(session: Session, turn: Turn, name: str, text: str, kind: ReplyKind) -> Reply:
    reply = Reply(
        id=ReplyId(f"{turn.id}/{kind}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"),
        session=session.key,
        address=turn.address,
        text=text,
        kind=kind,
    )
    return in_place_of_draft(turn, reply)
