"""GET /v1/events: stream everything that happens in this process to subscribers."""

from typing import Final

import msgspec
from msgspec import Struct

from hermes.channels.api.front import Front
from hermes.channels.api.refusals import RETRY, Unserved
from hermes.channels.api.render import HEARTBEAT, sent_event
from hermes.channels.api.stream import EVENT_STREAM, HEARTBEAT_S
from hermes.core.child_sessions import call_of_child
from hermes.core.codec import kind_of
from hermes.core.ids import SessionKey
from hermes.core.signals import (
    CallProgress,
    Compacting,
    Recorded,
    Retrying,
    Signal,
    TextDelta,
    ThoughtDelta,
)
from hermes.httpd.request import HttpRequest

LISTENERS_MAX: Final = 32
_json = msgspec.json.Encoder()


class Events(Struct, frozen=True, eq=False):
    front: Front

    async def answer(self, request: HttpRequest) -> None:
        front = self.front
        if front.listening >= LISTENERS_MAX:
            text = f"{LISTENERS_MAX} listen already."
            raise Unserved(429, text, code="too_many_listeners", headers=RETRY)
        front.listening += 1
        try:
            await self._tell(request)
        finally:
            front.listening -= 1

    async def _tell(self, request: HttpRequest) -> None:
        front = self.front
        with front.host.watch(None) as feed:
            pipe = request.open(EVENT_STREAM)
            await pipe.put(HEARTBEAT)
            while True:
                signal = await front.waits.next(feed, HEARTBEAT_S)
                if missed := feed.missed:
                    await pipe.put(sent_event(_json.encode({"count": missed}), "missed"))
                if signal is not None:
                    await pipe.put(told(signal))
                elif front.waits.closing:
                    pipe.close()
                    return
                elif request.gone:
                    return
                else:
                    await pipe.put(HEARTBEAT)


def _parent_of(session: SessionKey) -> dict[str, str]:
    """The call, and the turn of it, that a child session works for; nothing for other sessions."""
    found = call_of_child(session)
    if found is None:
        return {}
    return {"parent_call": found[0], "parent_turn": found[0].rpartition("-")[0]}


def told(signal: Signal) -> bytes:
    """Encode one signal as server-sent events, one for each event that became durable."""
    about = {"session": signal.session, "turn": signal.turn, **_parent_of(signal.session)}
    match signal.glimpse:
        case Recorded(events=events, position=position):
            first = position - len(events) + 1
            return b"".join(
                sent_event(
                    _json.encode({**about, "position": first + n, "event": event}),
                    f"recorded/{kind_of(event)}",
                )
                for n, event in enumerate(events)
            )
        case TextDelta(text=text):
            return sent_event(_json.encode({**about, "text": text}), "text")
        case ThoughtDelta(text=text):
            return sent_event(_json.encode({**about, "text": text}), "thought")
        case CallProgress(call=call, text=text, replaces=replaces):
            value = {**about, "call": call, "text": text, "replaces": replaces}
            return sent_event(_json.encode(value), "progress")
        case Retrying(why=why, delay_s=delay_s):
            value = {**about, "why": why, "delay_s": delay_s}
            return sent_event(_json.encode(value), "retrying")
        case Compacting(done=done, parts=parts):
            value = {**about, "done": done, "parts": parts}
            return sent_event(_json.encode(value), "compacting")
