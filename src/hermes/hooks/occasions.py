"""Map committed events to hook events and their payload. Pure.

The payload has the words of people and of the model, bounded. It leaves out the arguments and
results of tools, because these may contain secrets.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.ids import CallId, SessionKey, TurnId, session_key
from hermes.core.messages import Address, Inbound, Reply
from hermes.core.signals import Recorded, Signal

TEXT_CHARS_MAX = 4_000
CALLS_MAX = 50
OWN_LANE = session_key("hooks", "dm", "gateway")  # for messages of hooks outside of any session


class Occasion(Struct, frozen=True, kw_only=True):
    """An event for hooks. The journal event only refers to `messages` and `call`; `Recent` adds
    them."""

    event: str
    at: float
    session: SessionKey = SessionKey("")
    turn: TurnId = TurnId("")
    position: int = 0
    payload: Mapping[str, object] = {}
    address: Address | None = None
    messages: tuple[str, ...] = ()
    call: CallId = CallId("")


def occasions(signal: Signal) -> tuple[Occasion, ...]:
    """Return the hook events of a signal, in journal order. Messages from hooks are left out (no
    loops)."""
    if not isinstance(signal.glimpse, Recorded) or signal.session == OWN_LANE:
        return ()
    events, last = signal.glimpse.events, signal.glimpse.position
    first = last - len(events) + 1
    found = (_occasion(event, first + n) for n, event in enumerate(events))
    return tuple(replace(one, session=signal.session) for one in found if one is not None)


def _occasion(event: e.Event, position: int) -> Occasion | None:
    match event:
        case e.MessageReceived(inbound=inbound, opens=opens) if position == 1:
            begun = Occasion(event="session:start", at=inbound.at, payload={"conversation": opens})
            found: Occasion | None = worded(begun, (inbound,))
        case e.SessionReset(opens=opens, why=why, at=at, replies=replies):
            told = {"conversation": opens, "why": why}
            found = _replied(Occasion(event="session:reset", at=at, payload=told), replies)
        case e.SessionSuspended(why=why, at=at, replies=replies):
            found = _replied(Occasion(event="session:end", at=at, payload={"why": why}), replies)
        case e.CommandRun(message=message, at=at, replies=replies):
            told = {"reply": _joined(replies)}
            run = Occasion(event="command", at=at, payload=told, messages=(message,))
            found = _replied(run, replies)
        case _:
            found = _in_turn(event)
    return None if found is None else replace(found, position=position)


def _in_turn(event: e.Event) -> Occasion | None:
    match event:
        case e.TurnStarted(turn=turn, messages=messages, at=at):
            told: dict[str, object] = {"resumed": False}
            return Occasion(event="turn:start", at=at, turn=turn, payload=told, messages=messages)
        case e.TurnResumed(turn=turn, messages=messages, at=at):
            told = {"resumed": True}
            return Occasion(event="turn:start", at=at, turn=turn, payload=told, messages=messages)
        case e.ModelAnswered(turn=turn, at=at):
            return Occasion(event="turn:step", at=at, turn=turn, payload=_answer(event))
        case e.CallEnded(turn=turn, call=call, outcome=outcome, at=at):
            told = {"step": "call", "call": call, "tool": "", "outcome": outcome.value}
            return Occasion(event="turn:step", at=at, turn=turn, payload=told, call=call)
        case e.TurnEnded(turn=turn, outcome=ended, at=at, replies=replies):
            told = {"outcome": ended, "text": _joined(replies)}
            done = Occasion(event="turn:end", at=at, turn=turn, payload=told)
            return _replied(done, replies)
        case e.TurnInterrupted(turn=turn, why=why, at=at):
            told = {"outcome": "stopped", "why": why, "text": ""}
            return Occasion(event="turn:end", at=at, turn=turn, payload=told)
        case _:
            return None


def worded(occasion: Occasion, inbounds: Sequence[Inbound]) -> Occasion:
    """Return the event with the text of its messages."""
    if not inbounds:
        return occasion
    last = inbounds[-1]
    text = "\n\n".join(inbound.text for inbound in inbounds)
    told: dict[str, object] = {"sender": last.sender.id, "origin": last.origin}
    if occasion.event == "command":
        name, argument = (*text.split(None, 1), "", "")[:2]
        told |= {"command": bounded(name), "argument": bounded(argument.strip())}
    else:
        told |= {"text": bounded(text)}
    payload = {**occasion.payload, **told}
    return replace(occasion, payload=payload, address=occasion.address or last.address)


def value_in(occasion: Occasion) -> bytes:
    """Return the JSON that a hook reads on standard input."""
    value: dict[str, object] = {
        "event": occasion.event,
        "at": occasion.at,
        "session": occasion.session,
        "turn": occasion.turn,
    }
    if occasion.address is not None:
        value |= {"platform": occasion.address.platform, "chat": occasion.address.chat}
    return msgspec.json.encode({**value, **occasion.payload}) + b"\n"


def bounded(text: str) -> str:
    return text if len(text) <= TEXT_CHARS_MAX else text[: TEXT_CHARS_MAX - 1] + "…"


def _answer(event: e.ModelAnswered) -> Mapping[str, object]:
    calls = [{"id": call.id, "tool": call.tool} for call in event.calls[:CALLS_MAX]]
    tokens = {"input": event.usage.input, "output": event.usage.output}
    told: dict[str, object] = {"step": "answer", "text": bounded(event.text), "calls": calls}
    return {**told, "model": event.model, "tokens": tokens}


def _replied(occasion: Occasion, replies: Sequence[Reply]) -> Occasion:
    return replace(occasion, address=replies[-1].address) if replies else occasion


def _joined(replies: Sequence[Reply]) -> str:
    return bounded("\n\n".join(reply.text for reply in replies))
