"""The real `openai` package against the real server: what its users see."""

import asyncio
from pathlib import Path

import openai
import pytest
from openai import AsyncOpenAI

from hermes.core.errors import ProviderDenied
from hermes.core.ports import Answer, ModelRequest
from hermes.providers.scripted import Scripted
from tests.unit.channels.api.place import KEY, Puppet, Served, served


def client(here: Served, key: str = KEY) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{here.url}/v1", api_key=key, timeout=10)


async def test_a_plain_completion(tmp_path: Path) -> None:
    async with served(tmp_path) as here, client(here) as ai:
        answer = await ai.chat.completions.create(
            model="hermes", messages=[{"role": "user", "content": "hello"}]
        )
    assert answer.choices[0].message.content == "You said: hello"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None


async def test_a_streamed_completion_with_usage(tmp_path: Path) -> None:
    puppet = Puppet()
    async with served(tmp_path, puppet) as here, client(here) as ai:

        async def speak() -> None:
            question = await puppet.next()
            question.stream("Hel", "lo")
            question.end("Hello!")

        speaking = asyncio.create_task(speak())
        stream = await ai.chat.completions.create(
            model="hermes",
            messages=[{"role": "user", "content": "hello"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
        await speaking
    texts = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(texts) == "Hello!"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens == 7


async def test_the_models(tmp_path: Path) -> None:
    async with served(tmp_path) as here, client(here) as ai:
        assert [model.id async for model in ai.models.list()] == ["hermes", "some-model"]
        assert (await ai.models.retrieve("some-model")).id == "some-model"
        with pytest.raises(openai.NotFoundError):
            await ai.models.retrieve("another")


async def test_errors_have_the_classes_that_its_users_catch(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        async with client(here, key="wrong") as ai:
            with pytest.raises(openai.AuthenticationError) as stranger:
                await ai.models.list()
        async with client(here) as ai:
            with pytest.raises(openai.BadRequestError) as wrong:
                await ai.chat.completions.create(
                    model="hermes", messages=[{"role": "user", "content": "x"}], n=3
                )
    assert stranger.value.code == "invalid_api_key"
    assert wrong.value.type == "invalid_request_error"


async def test_a_failed_turn_is_not_run_again_by_the_client_itself(tmp_path: Path) -> None:
    asked: list[ModelRequest] = []

    def rule(request: ModelRequest) -> ProviderDenied:
        asked.append(request)
        return ProviderDenied("no credit")

    async with served(tmp_path, Scripted(rule)) as here, client(here) as ai:
        with pytest.raises(openai.InternalServerError, match="no credit"):
            await ai.chat.completions.create(
                model="hermes", messages=[{"role": "user", "content": "x"}]
            )
    assert len(asked) == 1


async def test_an_error_in_the_middle_of_a_stream_is_raised(tmp_path: Path) -> None:
    puppet = Puppet()
    async with served(tmp_path, puppet) as here, client(here) as ai:
        stream = await asyncio.gather(
            ai.chat.completions.create(
                model="hermes",
                messages=[{"role": "user", "content": "x"}],
                stream=True,
                extra_headers={"X-Hermes-Session-Id": "one"},
            ),
            puppet.next(),
        )
        await here.chat("/stop", **{"X-Hermes-Session-Id": "one"})
        with pytest.raises(openai.APIError, match="stopped"):
            _ = [chunk async for chunk in stream[0]]


async def test_a_session_goes_on_and_a_key_is_used_once(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def rule(request: ModelRequest) -> Answer:
        seen.append([line.text for line in request.lines])
        return Answer(text=f"answer {len(seen)}")

    async with served(tmp_path, rule) as here, client(here) as ai:

        async def ask(text: str, key: str) -> tuple[str | None, str]:
            raw = await ai.chat.completions.with_raw_response.create(
                model="hermes",
                messages=[{"role": "user", "content": text}],
                extra_headers={"X-Hermes-Session-Id": "work", "Idempotency-Key": key},
            )
            assert raw.headers["x-hermes-session-id"] == "work"
            return raw.parse().choices[0].message.content, raw.headers["x-hermes-turn-id"]

        one = await ask("one", "k1")
        two = await ask("two", "k2")
        assert await ask("one", "k1") == one
    assert (one[0], two[0]) == ("answer 1", "answer 2")
    assert seen == [["one"], ["one", "answer 1", "two"]]


async def test_a_client_that_leaves_comes_back_with_its_key(tmp_path: Path) -> None:
    puppet = Puppet()
    async with served(tmp_path, puppet) as here, client(here) as ai:

        async def ask() -> str | None:
            answer = await ai.chat.completions.create(
                model="hermes",
                messages=[{"role": "user", "content": "x"}],
                extra_headers={"Idempotency-Key": "k"},
            )
            return answer.choices[0].message.content

        leaving = asyncio.create_task(ask())
        question = await puppet.next()
        leaving.cancel()
        await asyncio.wait({leaving})
        joining = asyncio.create_task(ask())
        await asyncio.sleep(0.05)
        question.end("still there")
        assert await joining == "still there"
