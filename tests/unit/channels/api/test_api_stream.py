"""Answers as they are written: live chunks over a real socket, and the whole text in the end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

from hermes.core.errors import ProviderDenied
from hermes.core.messages import Effect
from hermes.core.ports import Answer, RawCall, Tool, ToolContext, ToolResult, ToolSpec
from hermes.providers.scripted import Scripted
from tests.unit.channels.api.place import Puppet, Served, said, sent, served, text_of


class Reading:
    """A stream as a client reads it, line by line."""

    def __init__(self, response: httpx2.Response) -> None:
        self.headers = response.headers
        self._lines = response.aiter_lines()
        self.lines: list[str] = []

    async def text(self) -> str:
        """The next piece of text."""
        while True:
            line = await asyncio.wait_for(anext(self._lines), 10)
            self.lines.append(line)
            if line.startswith("data: {") and (piece := text_of(sent([line]))):
                return piece

    async def rest(self) -> list[object]:
        self.lines += [line async for line in self._lines]
        return sent(self.lines)


@asynccontextmanager
async def streaming(here: Served, text: str, **headers: str) -> AsyncIterator[Reading]:
    body = said(text, stream=True, stream_options={"include_usage": True})
    path = "/v1/chat/completions"
    async with here.http.stream("POST", path, json=body, headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        yield Reading(response)


def looking() -> Tool:
    async def run(_bench: ToolContext) -> ToolResult:
        return ToolResult(text="9 fathoms")

    spec = ToolSpec(name="look", description="look", parameters='{"type":"object"}')
    return Tool(spec=spec, check=lambda _: "", effect=lambda _: Effect.READ, run=run)


async def test_text_arrives_while_the_model_still_speaks(tmp_path: Path) -> None:
    puppet = Puppet()

    async def speak() -> None:
        question = await puppet.next()
        question.stream("Hel", "lo ", "you ")
        await heard.wait()
        question.end("Hello you all.")

    heard = asyncio.Event()
    async with served(tmp_path, puppet) as here:
        speaking = asyncio.create_task(speak())
        async with streaming(here, "go") as reading:
            assert await reading.text() == "Hello "  # a word that has no end yet may be a secret
            assert await reading.text() == "you "
            heard.set()
            chunks = await reading.rest()
        await speaking
        [row] = await here.house.store.library.turns(limit=5)
    assert reading.headers["content-type"].startswith("text/event-stream")
    assert reading.headers["x-hermes-turn-id"] == row.id
    assert "x-hermes-session-id" in reading.headers
    assert text_of(chunks) == "Hello you all."
    first, *_, finish, usage = chunks
    assert isinstance(first, dict)
    assert first["object"] == "chat.completion.chunk"
    assert first["choices"][0]["delta"]["role"] == "assistant"
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert usage["choices"] == []
    assert usage["usage"]["total_tokens"] == 10
    assert {chunk["id"] for chunk in chunks} == {f"chatcmpl-{row.id}"}
    assert reading.lines[-2:] == ["data: [DONE]", ""]


async def test_text_before_a_call_stays_and_the_answer_follows_it(tmp_path: Path) -> None:
    puppet = Puppet()
    async with served(tmp_path, puppet, tools=[looking()]) as here:

        async def speak() -> None:
            question = await puppet.next()
            question.stream("I ", "look.")
            question.end(Answer(text="I look.", calls=(RawCall("look", "{}"),)))
            question = await puppet.next()
            question.stream("Nine")
            question.end("Nine fathoms.")

        speaking = asyncio.create_task(speak())
        async with streaming(here, "go") as reading:
            chunks = await reading.rest()
        await speaking
    assert text_of(chunks) == "I look.\n\nNine fathoms."


async def test_a_retry_does_not_say_twice_what_was_said(tmp_path: Path) -> None:
    puppet = Puppet()
    async with served(tmp_path, puppet) as here:

        async def speak() -> None:
            question = await puppet.next()
            question.stream("Hello wor")
            question.retry()
            question.stream("Hello", " world")
            question.end("Hello world!")

        speaking = asyncio.create_task(speak())
        async with streaming(here, "go") as reading:
            chunks = await reading.rest()
        await speaking
    assert text_of(chunks) == "Hello world!"


async def test_a_client_that_joins_in_the_middle_gets_the_whole_answer_once(
    tmp_path: Path,
) -> None:
    puppet = Puppet()
    key = {"Idempotency-Key": "k"}
    async with served(tmp_path, puppet) as here:
        leaving = asyncio.create_task(here.chat("go", **key))
        question = await puppet.next()
        question.stream("One", " two")
        leaving.cancel()
        async with streaming(here, "go", **key) as reading:
            question.stream(" three")
            question.end("One two three")
            chunks = await reading.rest()
        async with streaming(here, "go", **key) as late:
            stored = await late.rest()
    assert text_of(chunks) == "One two three"
    assert text_of(stored) == "One two three"
    assert reading.headers["x-hermes-turn-id"] == late.headers["x-hermes-turn-id"]
    async with served(tmp_path, puppet) as here, streaming(here, "go", **key) as after:
        assert text_of(await after.rest()) == "One two three"


async def test_a_flood_of_signals_that_nobody_reads_costs_no_text(tmp_path: Path) -> None:
    puppet = Puppet()
    words = [f"{n} " for n in range(5_000)]
    async with served(tmp_path, puppet) as here:

        async def speak() -> None:
            question = await puppet.next()
            question.stream(*words)  # in one go: more than a feed keeps
            question.end("".join(words))

        speaking = asyncio.create_task(speak())
        async with streaming(here, "go") as reading:
            chunks = await reading.rest()
        await speaking
    assert text_of(chunks) == "".join(words)


async def test_the_text_of_another_turn_in_the_lane_is_not_streamed(tmp_path: Path) -> None:
    puppet = Puppet()
    name = {"X-Hermes-Session-Id": "one"}
    async with served(tmp_path, puppet) as here:
        first = asyncio.create_task(here.chat("one", **name))
        question = await puppet.next()

        async def speak() -> None:
            await asyncio.sleep(0.1)
            question.stream("not ", "yours")
            question.end("not yours")
            mine = await puppet.next()
            mine.stream("yours")
            mine.end("yours")

        speaking = asyncio.create_task(speak())
        async with streaming(here, "two", **name) as reading:
            chunks = await reading.rest()
        await speaking
        await first
    assert text_of(chunks) == "yours"


async def test_a_failure_before_the_first_word_is_an_error_status(tmp_path: Path) -> None:
    async with served(tmp_path, Scripted(lambda _: ProviderDenied("no credit"))) as here:
        body = said("go", stream=True)
        response = await here.http.post("/v1/chat/completions", json=body)
        again = await here.http.post(
            "/v1/chat/completions", json=body, headers={"Idempotency-Key": "k"}
        )
        stored = await here.http.post(
            "/v1/chat/completions", json=body, headers={"Idempotency-Key": "k"}
        )
    assert again.status_code in (200, 502)
    assert stored.status_code == 502
    for each in (response, again, stored):
        assert "no credit" in each.text


async def test_a_stop_in_the_middle_of_a_stream_ends_it_with_an_error(tmp_path: Path) -> None:
    puppet = Puppet()
    name = {"X-Hermes-Session-Id": "one"}
    async with served(tmp_path, puppet) as here, streaming(here, "go", **name) as reading:
        (await puppet.next()).stream("Once upon ")
        assert await reading.text() == "Once upon "
        await here.chat("/stop", **name)
        chunks = await reading.rest()
    assert isinstance(chunks[-1], dict)
    assert chunks[-1]["error"]["code"] == "turn_stopped"
    assert reading.lines[-2:] == ["data: [DONE]", ""]


async def test_a_stream_that_is_cut_by_the_end_of_the_process_says_so(tmp_path: Path) -> None:
    puppet = Puppet()
    async with served(tmp_path, puppet) as here, streaming(here, "go") as reading:
        (await puppet.next()).stream("Once ")
        assert await reading.text() == "Once "
        here.house.listening.cancel()
        chunks = await reading.rest()
    assert isinstance(chunks[-1], dict)
    assert chunks[-1]["error"]["code"] == "gateway_stopping"
