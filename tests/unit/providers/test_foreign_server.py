"""A second opinion: llmock is a model server that others wrote, and it judges its clients.

It fails the way providers do, sees every attempt with its time, and says what we did wrong.
"""

import json

import pytest
from llmock.pytest_plugin import LLMock

from hermes.core.errors import ContextOverflow, ProviderFailed, ProviderRefused
from hermes.core.ports import Answer
from hermes.providers.build import build
from hermes.providers.settings import ProviderSettings, ProviderTimeouts, RetryLimits
from tests.unit.providers.recordings import HELLO, KEY, SPEC

QUICK = RetryLimits(base_s=0.1, attempts_max=3)
WAITS = ProviderTimeouts(first_token_s=20.0, silence_s=20.0)
protocols = pytest.mark.parametrize("provider", ["openai", "anthropic"])


async def answered(llmock: LLMock, provider: str, waits: ProviderTimeouts = WAITS) -> Answer:
    settings = ProviderSettings(
        provider=provider,
        base_url=llmock.base_url(provider),
        name="gpt-4o" if provider == "openai" else "some-model",
        api_key=KEY,
        patience=QUICK,
        timeouts=waits,
    )
    chain = build(settings, {})
    try:
        return await chain.ask(HELLO, lambda _: None)
    finally:
        await chain.aclose()


@protocols
async def test_an_answer_and_its_counts_are_read(llmock: LLMock, provider: str) -> None:
    llmock.reply("Bonjour !")
    answer = await answered(llmock, provider)
    assert (answer.text, answer.finish) == ("Bonjour !", "stop")
    assert answer.usage.input > 0
    assert answer.usage.output > 0
    llmock.assert_resilient(strict=True)


@protocols
async def test_a_tool_is_called(llmock: LLMock, provider: str) -> None:
    llmock.call_tool(SPEC.name, {"command": "ls"})
    answer = await answered(llmock, provider)
    assert [call.tool for call in answer.calls] == [SPEC.name]
    assert json.loads(answer.calls[0].arguments) == {"command": "ls"}
    assert answer.finish == "calls"


@protocols
@pytest.mark.parametrize("fault", ["disconnect", "truncate", "corrupt", "stall"])
async def test_each_fault_of_a_stream_is_noticed_and_asked_again(
    llmock: LLMock, provider: str, fault: str
) -> None:
    llmock.reply("one two three four five six seven eight", times=None)
    {
        "disconnect": lambda: llmock.disconnect(after_chunks=5),
        "truncate": lambda: llmock.truncate(after_chunks=5),
        "corrupt": lambda: llmock.corrupt(after_chunks=5),
        "stall": lambda: llmock.stall(after_chunks=5, seconds=2),
    }[fault]()
    waits = ProviderTimeouts(silence_s=0.5) if fault == "stall" else WAITS
    answer = await answered(llmock, provider, waits)
    assert answer.text == "one two three four five six seven eight"
    assert len(llmock.requests) >= 2
    llmock.assert_resilient()


@protocols
async def test_a_rate_limit_is_waited_for(llmock: LLMock, provider: str) -> None:
    llmock.rate_limit(retry_after=0.3)
    llmock.reply("at last", times=None)
    assert (await answered(llmock, provider)).text == "at last"
    llmock.assert_resilient()


@protocols
async def test_an_outage_is_reported_after_a_few_attempts(llmock: LLMock, provider: str) -> None:
    llmock.fail(503, times=None, retry_after=0.1)
    with pytest.raises(ProviderFailed, match="after 3 attempts"):
        await answered(llmock, provider)
    llmock.assert_resilient()


@protocols
async def test_what_stays_wrong_is_asked_once(llmock: LLMock, provider: str) -> None:
    llmock.fail(400)
    with pytest.raises(ProviderRefused):
        await answered(llmock, provider)
    assert len(llmock.requests) == 1
    llmock.reset()
    llmock.context_overflow()
    with pytest.raises(ContextOverflow):
        await answered(llmock, provider)
    assert len(llmock.requests) == 1
    llmock.assert_resilient()


@protocols
async def test_a_broken_call_goes_out_as_it_was_written(llmock: LLMock, provider: str) -> None:
    for kind in ("malformed_arguments", "unknown_tool"):
        llmock.call_tool(SPEC.name, {"command": "ls"})
        llmock.break_tool_call(kind)
        answer = await answered(llmock, provider)
        assert len(answer.calls) == 1
        llmock.reset()
