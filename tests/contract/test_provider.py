"""What the engine may expect of every provider, whoever serves the model."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from hermes.core.errors import ProviderFailed, ProviderRefused
from hermes.core.messages import Thought
from hermes.core.ports import Answer, ModelRequest, Provider, RawCall
from hermes.core.signals import Glimpse, Retrying, TextDelta, ThoughtDelta
from hermes.providers.chain import ProviderChain
from hermes.providers.scripted import Scripted, StreamPace
from hermes.providers.settings import RetryLimits
from tests.unit.providers.asking import asked
from tests.unit.providers.recordings import (
    HELLO,
    OPENAI_CALLS,
    block,
    calls,
    data,
    delta,
    message,
    piece,
)
from tests.unit.providers.servers import HANG, Play, chunk, chunked, head, plain

WORDS = ("I look", " at b💥th", ".")
THOUGHT = "Two things."
START = head(content_type="text/event-stream", transfer_encoding="chunked")

# A kind of provider, ready to be asked, that will do what the name says.
Stage = Callable[[str], AbstractAsyncContextManager[Provider]]


def openai_plays() -> dict[str, Play]:
    text = [delta({"content": word}) for word in WORDS]
    raw = [
        piece(n, call.arguments, id=f"c{n}", name=call.tool) for n, call in enumerate(OPENAI_CALLS)
    ]
    thought = delta({"reasoning_content": THOUGHT})
    return {
        "text": [chunked(data(*text, delta({}, finish="stop"), "[DONE]"))],
        "calls": [chunked(data(thought, *text, calls(*raw), delta({}, finish="stop"), "[DONE]"))],
        "failure": [plain({"error": "no"}, status=400)],
        "cut": [chunked(data(*text))],
        "hang": [START + chunk(data(text[0])), HANG],
    }


def anthropic_plays() -> dict[str, Play]:
    spoken = [{"type": "text_delta", "text": word} for word in WORDS]
    text = block(1, {"type": "text", "text": ""}, *spoken)
    thinking = {"type": "thinking", "thinking": THOUGHT, "signature": "s"}
    uses = [
        event
        for n, call in enumerate(OPENAI_CALLS, start=2)
        for event in block(
            n,
            {"type": "tool_use", "id": f"u{n}", "name": call.tool, "input": {}},
            {"type": "input_json_delta", "partial_json": call.arguments},
        )
    ]
    called = [*block(0, thinking), *text, *uses]
    whole = message(text, "end_turn")
    return {
        "text": [chunked(whole)],
        "calls": [chunked(message(called, "tool_use"))],
        "failure": [plain({"error": {"message": "no"}}, status=400)],
        "cut": [chunked(whole[: whole.index(b"event: message_delta")])],
        "hang": [START + chunk(whole[: whole.index(b"event: message_delta")]), HANG],
    }


def played(name: str) -> Callable[[ModelRequest], tuple[Answer | ProviderFailed, StreamPace]]:
    text = "".join(WORDS)
    answers: dict[str, Answer | ProviderFailed] = {
        "text": Answer(text=text),
        "calls": Answer(
            text=text, calls=OPENAI_CALLS, thoughts=(Thought(text=THOUGHT),), finish="calls"
        ),
        "failure": ProviderFailed("no"),
        "cut": ProviderFailed("cut"),
        "hang": Answer(text=text),
    }
    return lambda _: (answers[name], StreamPace(chunk_s=1000.0 if name == "hang" else 0.0))


PLAYS = {"custom": openai_plays(), "custom-anthropic": anthropic_plays()}


def over_a_socket(provider: str) -> Stage:
    @asynccontextmanager
    async def stage(name: str) -> AsyncIterator[Provider]:
        async with asked(PLAYS[provider][name], provider=provider) as (chain, _):
            yield chain

    return stage


@asynccontextmanager
async def scripted(name: str) -> AsyncIterator[Provider]:
    yield Scripted(played(name), name="scripted:play")


@asynccontextmanager
async def chained(name: str) -> AsyncIterator[Provider]:
    """The first one fails after it has said something."""

    def fails(_: ModelRequest) -> ProviderFailed:
        return ProviderRefused("not me")

    links = (Scripted(fails, name="scripted:first"), Scripted(played(name), name="scripted:play"))
    yield ProviderChain(links, RetryLimits(attempts_max=1))


STAGES: dict[str, Stage] = {
    "openai": over_a_socket("custom"),
    "anthropic": over_a_socket("custom-anthropic"),
    "scripted": scripted,
    "chain": chained,
}


@pytest.fixture(params=STAGES)
def stage(request: pytest.FixtureRequest) -> Stage:
    return STAGES[request.param]


def spoken(seen: list[Glimpse]) -> str:
    """What a person has seen of the attempt that counts."""
    last = max((at for at, one in enumerate(seen) if isinstance(one, Retrying)), default=-1)
    return "".join(one.text for one in seen[last + 1 :] if isinstance(one, TextDelta))


async def test_it_has_the_name_that_goes_into_the_journal(stage: Stage) -> None:
    async with stage("text") as provider:
        kind, colon, model = provider.name.partition(":")
        assert kind
        assert colon
        assert model
        answer = await provider.ask(HELLO, lambda _: None)
        assert answer.model.count(":") >= 1


async def test_what_streams_by_is_the_text_of_the_answer(stage: Stage) -> None:
    seen: list[Glimpse] = []
    async with stage("text") as provider:
        answer = await provider.ask(HELLO, seen.append)
    assert answer.text == spoken(seen) == "".join(WORDS)
    assert (answer.calls, answer.finish) == ((), "stop")


async def test_thoughts_text_and_several_calls_come_in_one_answer(stage: Stage) -> None:
    seen: list[Glimpse] = []
    async with stage("calls") as provider:
        answer = await provider.ask(HELLO, seen.append)
    assert answer.calls == OPENAI_CALLS
    assert all(isinstance(call, RawCall) for call in answer.calls)
    assert [one.text for one in answer.thoughts] == [THOUGHT]
    assert (answer.text, answer.finish) == (spoken(seen), "calls")
    assert "".join(one.text for one in seen if isinstance(one, ThoughtDelta)) == THOUGHT


@pytest.mark.parametrize("name", ["failure", "cut"])
async def test_a_failure_is_of_the_tree_and_one_line(stage: Stage, name: str) -> None:
    async with stage(name) as provider:
        with pytest.raises(ProviderFailed) as told:
            await provider.ask(HELLO, lambda _: None)
    assert str(told.value)
    assert "\n" not in str(told.value)


async def test_it_can_be_asked_again_after_a_failure_and_by_many_at_once(stage: Stage) -> None:
    async with stage("text") as provider:
        answers = await asyncio.gather(*(provider.ask(HELLO, lambda _: None) for _ in range(5)))
    assert {answer.text for answer in answers} == {"".join(WORDS)}


async def test_cancelling_ends_it_at_once(stage: Stage) -> None:
    said = asyncio.Event()
    async with stage("hang") as provider:
        asking = asyncio.create_task(provider.ask(HELLO, lambda _: said.set()))
        await asyncio.wait_for(said.wait(), 30)
        await asyncio.sleep(0.02)
        asking.cancel()
        done, _ = await asyncio.wait([asking], timeout=30)
    assert done == {asking}
    assert asking.cancelled()
