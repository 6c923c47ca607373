"""An answer as it is written: server-sent chunks, the last text complete and exactly once."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from starlette.types import Send

from hermes.channels.api import render
from hermes.channels.api.exchange import Exchange, Gone
from hermes.channels.api.flow import Flow
from hermes.channels.api.follow import News
from hermes.channels.api.refusals import Unserved
from hermes.core import events as e
from hermes.core.signals import Retrying, TextDelta

HEADERS_S: Final = 10.0  # so long the headers wait for the turn that they name
HEARTBEAT_S: Final = 10.0
EVENT_STREAM: Final = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}


@dataclass(eq=False, kw_only=True)
class Streaming:
    """One streamed completion. Raises Unserved as long as nothing has been sent."""

    exchange: Exchange
    counted: bool  # the client wants the usage, too
    flow: Flow = field(default_factory=Flow)

    async def run(self, send: Send) -> None:
        exchange = self.exchange
        begun = ""
        until = _now() + HEADERS_S
        while exchange.answer.turn is None and not exchange.settled and _now() < until:
            begun += self._text(await exchange.news())
        if problem := render.problem(exchange.answer):
            problem.headers |= exchange.headers()
            raise problem
        pipe = Pipe(send)
        await pipe.open(exchange.headers())
        door, model = exchange.front.door, exchange.answer.model or exchange.front.model
        chunks = render.Chunks(id_=exchange.id(), created=int(door.clock()), model=model)
        await pipe.put(chunks.begin() + (chunks.text(begun) if begun else b""))
        try:
            await self._body(pipe, chunks)
        except Gone:
            return
        except Unserved as cut:
            await pipe.close(chunks.fault(cut))

    async def _body(self, pipe: "Pipe", chunks: render.Chunks) -> None:
        exchange = self.exchange
        while not exchange.settled:
            text = self._text(await exchange.news())
            if text:
                await pipe.put(chunks.text(text))
            elif pipe.silent_s > HEARTBEAT_S:
                await pipe.put(render.HEARTBEAT)
        answer = exchange.answer
        if problem := render.problem(answer):
            await pipe.close(chunks.fault(problem))
            return
        rest = self.flow.finished(answer.text)
        tail = chunks.end(answer.usage if self.counted else None)
        await pipe.close((chunks.text(rest) if rest else b"") + tail)

    def _text(self, news: News) -> str:
        match news.glimpse:
            case TextDelta(text=text):
                return self.flow.delta(text)
            case Retrying():
                self.flow.attempt(seen=True)
            case None:
                pass
        if news.gap:
            self.flow.lost()
        turn = self.exchange.answer.turn
        out = ""
        for event in news.events:
            match event:
                case e.TurnStarted(turn=of) | e.TurnResumed(turn=of) if of == turn:
                    self.flow.attempt(seen=news.live)
                case e.ModelAnswered(turn=of, text=text) if of == turn:
                    out += self.flow.committed(text, seen=news.live)
                case e.CallEnded(turn=of) | e.QuestionAnswered(turn=of) if of == turn:
                    self.flow.attempt(seen=news.live)  # no model speaks while a call is open
                case _:
                    continue
        return out


class Pipe:
    """The body of one response, written piece by piece."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._last = _now()

    @property
    def silent_s(self) -> float:
        return _now() - self._last

    async def open(self, headers: Mapping[str, str]) -> None:
        both = {**EVENT_STREAM, **headers}
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in both.items()]
        await self._send({"type": "http.response.start", "status": 200, "headers": raw})

    async def put(self, piece: bytes) -> None:
        self._last = _now()
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    async def close(self, piece: bytes) -> None:
        await self._send({"type": "http.response.body", "body": piece, "more_body": False})


def _now() -> float:
    return asyncio.get_running_loop().time()
