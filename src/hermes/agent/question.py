"""How a person is asked about a call, and what exactly the answer will be about."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from hermes.agent.permit import Permit
from hermes.core.events import CallEnded, Event, QuestionAsked
from hermes.core.grants import canonical
from hermes.core.ids import ReplyId
from hermes.core.messages import Address, Call, Outcome, Reply, ReplyKind
from hermes.core.people import Role
from hermes.core.policy import FAULTS, VERSION
from hermes.core.ports import Presented, Tool
from hermes.core.session import Session, Turn
from hermes.core.step import AskPerson
from hermes.core.store import Home
from hermes.views.cards import card, offered, time_of
from hermes.views.honest import both_ends

HEAD_CHARS, TAIL_CHARS = 1_500, 500
CHANGED = (
    "This is not what the person said yes to any more: a file, a program, the directory or the "
    "rules have changed since. Nothing was run. Look again, and call it anew if it is still right."
)
ELSEWHERE = "My owner has to allow that. I have asked, and go on when there is an answer."
NOWHERE = "My owner has to allow that, with `hermes approvals` on the machine that I run on."


class Asker(Struct, frozen=True, kw_only=True):
    tools: Mapping[str, Tool]
    permit: Permit
    homes: Callable[[], Awaitable[Sequence[Home]]]  # where the owner is told things
    answer_s: float  # how long a question waits
    new_id: Callable[[], str]
    clock: Callable[[], float]

    async def ask(self, session: Session, turn: Turn, step: AskPerson) -> tuple[Event, ...]:
        """The owner, where it was wanted; at home, when somebody else wanted it."""
        call, at = step.call, self.clock()
        seen = await self._presented(call, session.facts)
        id_, expires_at = self.new_id(), at + self.answer_s
        offer = self.permit.offer(session, turn, call, id_)
        lines = card(session, turn, call, seen, step.why)
        lines += [offered(offer)] if offer is not None else []
        lines.append(f"- without an answer until {time_of(expires_at)} it is a no")
        by_owner = self.permit.principal(session, turn).role is Role.OWNER
        home = turn.address if by_owner else await self._home()
        question, notices = _reply(session, turn, id_, NOWHERE, "question"), tuple[Reply, ...]()
        if home is not None:
            buttons = _buttons(id_, always=offer is not None)
            question = msgspec.structs.replace(
                question, address=home, text="\n".join(lines), buttons=buttons
            )
        if home not in (None, turn.address):
            question = msgspec.structs.replace(question, replaces="")
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
            offer=offer,
        )
        return (asked,)

    def broke(self, turn: Turn, step: AskPerson, error: Exception) -> tuple[Event, ...]:
        text = f"It must be asked about, and that failed ({error}). Nothing was run."
        return (CallEnded(turn.id, step.call.id, Outcome.DENIED, text, self.clock()),)

    async def digest(self, call: Call, facts: Mapping[str, str]) -> str:
        """Of the call as it would run now."""
        seen = await self._presented(call, facts)
        return digest_of(call, seen, self.permit.box(call))

    async def _presented(self, call: Call, facts: Mapping[str, str]) -> Presented:
        return await asyncio.to_thread(presented, self.tools[call.tool], call, facts)

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
        return Presented(text=text, notes=(f"it could not be looked at closely: {fault}",))


def digest_of(call: Call, seen: Presented, profile: str) -> str:
    """The same for exactly this call, run by these programs, there, in that box, by these rules."""
    parts = [call.tool, canonical(call.arguments), seen.bound, profile, VERSION]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def _buttons(id_: str, *, always: bool) -> tuple[tuple[str, str], ...]:
    more = (("Always", f"/approve {id_} always"),) if always else ()
    return (("Approve", f"/approve {id_}"), ("Deny", f"/deny {id_}"), *more)


def _reply(session: Session, turn: Turn, name: str, text: str, kind: ReplyKind) -> Reply:
    return Reply(
        id=ReplyId(f"{turn.id}/{kind}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"),
        session=session.key,
        address=turn.address,
        text=text,
        kind=kind,
        replaces=turn.draft,
    )
