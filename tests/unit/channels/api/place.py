"""Where the tests of the api channel meet: a served house, clients, and a model that obeys."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import msgspec

from hermes.channels.api.server import ApiChannel
from hermes.channels.api.settings import ApiSettings
from hermes.core.messages import Usage
from hermes.core.ports import Answer, ModelRequest, Provider, Tool
from hermes.core.rules import Allow, Judge
from hermes.core.signals import Retrying, TextDelta, Watch
from hermes.testing.house import House, Rule, echo, house

KEY = "a-key-for-tests"
MODEL = "some-model"
WAIT_S = 60.0


@dataclass(kw_only=True)
class Served:
    house: House
    url: str
    http: httpx2.AsyncClient

    async def chat(self, text: str, **headers: str) -> httpx2.Response:
        return await self.http.post("/v1/chat/completions", json=said(text), headers=headers)


def client(url: str, headers: dict[str, str] | None = None) -> httpx2.AsyncClient:
    """Without TLS, whose set-up costs more than a test."""
    return httpx2.AsyncClient(base_url=url, headers=headers, timeout=WAIT_S, verify=False)


def said(text: str, **more: object) -> dict[str, object]:
    return {"model": "hermes", "messages": [{"role": "user", "content": text}], **more}


@asynccontextmanager
async def served(
    home: Path,
    provider: Provider | Rule = echo,
    *,
    tools: Sequence[Tool] = (),
    verdict: Judge = lambda _session, _call, _moment: Allow(),
) -> AsyncIterator[Served]:
    channel = ApiChannel(ApiSettings(key=KEY, port=0), model=MODEL)
    async with house(home, channel, provider, tools=tools, verdict=verdict) as inside:
        assert channel.bound is not None
        url = f"http://{channel.bound[0]}:{channel.bound[1]}"
        headers = {"Authorization": f"Bearer {KEY}"}
        async with client(url, headers=headers) as http:
            yield Served(house=inside, url=url, http=http)


@dataclass(kw_only=True)
class Asking:
    """One question to the model; the test decides what is said and when."""

    request: ModelRequest
    watch: Watch
    answer: "asyncio.Future[Answer]"

    def stream(self, *texts: str) -> None:
        for text in texts:
            self.watch(TextDelta(text))

    def retry(self) -> None:
        self.watch(Retrying("it broke", 0.0))

    def end(self, answer: Answer | str) -> None:
        whole = Answer(text=answer) if isinstance(answer, str) else answer
        self.answer.set_result(msgspec.structs.replace(whole, usage=Usage(input=7, output=3)))


class Puppet:
    """A model that says what a test makes it say."""

    name = "puppet:model"

    def __init__(self) -> None:
        self._asked: asyncio.Queue[Asking] = asyncio.Queue()

    async def ask(self, request: ModelRequest, watch: Watch) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        await self._asked.put(Asking(request=request, watch=watch, answer=answer))
        return await answer

    async def next(self) -> Asking:
        return await asyncio.wait_for(self._asked.get(), WAIT_S)

    async def aclose(self) -> None:
        """There is nothing to close."""


def sent(lines: Sequence[str]) -> list[object]:
    """The bodies of server-sent events, without comments and the last word."""
    bodies = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [msgspec.json.decode(body) for body in bodies if body != "[DONE]"]


def text_of(chunks: Sequence[object]) -> str:
    """What a client that joins the deltas has in the end."""
    texts = []
    for chunk in chunks:
        assert isinstance(chunk, dict)
        texts += [choice["delta"].get("content") or "" for choice in chunk["choices"]]
    return "".join(texts)
