"""A streamed answer: server-sent chunks, the last text complete and exactly once."""

import asyncio
from typing import Final

from msgspec import Struct, field

from hermes.channels.api import render
from hermes.channels.api.exchange import Exchange, Gone
from hermes.channels.api.flow import Flow
from hermes.channels.api.follow import News
from hermes.channels.api.refusals import Unserved
from hermes.core import events as e
from hermes.core.signals import Retrying, TextDelta
from hermes.httpd.request import Pipe

HEADERS_S: Final = 10.0  # so long the headers wait for the turn that they name
HEARTBEAT_S: Final = 10.0
EVENT_STREAM: Final = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}


class Streaming(Struct, eq=False, kw_only=True):
    """One streamed completion. Raises Unserved as long as nothing has been sent."""

    exchange: Exchange
    counted: bool  # the client wants the usage, too
    flow: Flow = field(default_factory=Flow)

    async def run(self) -> None:
        exchange = self.exchange
        begun = ""
        until = _now() + HEADERS_S
        while exchange.answer.turn is None and not exchange.settled and _now() < until:
            begun += self._text(await exchange.news())
        if problem := render.problem(exchange.answer):
            problem.headers |= exchange.headers()
            raise problem
        pipe = exchange.request.open({**EVENT_STREAM, **exchange.headers()})
        host, model = exchange.front.host, exchange.answer.model or exchange.front.model
        chunks = render.Chunks(id_=exchange.id(), created=int(host.clock()), model=model)
        await pipe.put(chunks.begin() + (chunks.text(begun) if begun else b""))
        try:
            await self._body(pipe, chunks)
        except Gone:
            return
        except Unserved as cut:
            pipe.close(chunks.fault(cut))

    async def _body(self, pipe: Pipe, chunks: render.Chunks) -> None:
        exchange = self.exchange
        while not exchange.settled:
            text = self._text(await exchange.news())
            if text:
                await pipe.put(chunks.text(text))
            elif pipe.silent_s > HEARTBEAT_S:
                await pipe.put(render.HEARTBEAT)
        answer = exchange.answer
        if problem := render.problem(answer):
            pipe.close(chunks.fault(problem))
            return
        rest = self.flow.finished(answer.text)
        tail = chunks.end(answer.usage if self.counted else None)
        pipe.close((chunks.text(rest) if rest else b"") + tail)

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


def _now() -> float:
    return asyncio.get_running_loop().time()
