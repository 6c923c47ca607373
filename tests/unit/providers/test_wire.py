"""Time-outs, cancelling, framing and limits, against real sockets."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator

import pytest

from hermes.core.errors import ProviderBusy, ProviderGarbled, ProviderRefused, ProviderSilent
from hermes.core.ports import Answer
from hermes.core.signals import TextDelta
from hermes.providers import wire
from hermes.providers.anthropic_fold import AnthropicFold
from hermes.providers.build import build
from hermes.providers.endpoint import EndpointLabel
from hermes.providers.openai_fold import OpenAIFold
from hermes.providers.settings import ProviderSettings, ProviderTimeouts
from hermes.providers.sse import EVENT_BYTES_MAX
from tests.unit.providers.asking import ONCE, PROTOCOLS, ask, asked
from tests.unit.providers.recordings import (
    ANTHROPIC,
    HELLO,
    OPENAI,
    OPENAI_CALLS,
    OPENAI_TEXT,
    data,
    delta,
)
from tests.unit.providers.servers import DROP, HANG, chunk, chunked, closing, head, plain

BODIES = {"custom": OPENAI, "custom-anthropic": ANTHROPIC}
FOLDS = {"custom": OpenAIFold, "custom-anthropic": AnthropicFold}
START = head(content_type="text/event-stream", transfer_encoding="chunked")
HURRIED = ProviderTimeouts(first_token_s=0.2, silence_s=2.0)
protocols = pytest.mark.parametrize("provider", PROTOCOLS)


def first_events(provider: str, count: int = 4) -> bytes:
    return b"\n\n".join(BODIES[provider].split(b"\n\n")[:count]) + b"\n\n"


@protocols
async def test_one_connection_serves_many_questions(provider: str) -> None:
    async with asked([chunked(BODIES[provider])], provider=provider) as (chain, server):
        for _ in range(3):
            await chain.ask(HELLO, lambda _: None)
    assert (len(server.taken), server.connections) == (3, 1)


@protocols
async def test_an_answer_without_an_end_mark_of_its_connection_is_taken(provider: str) -> None:
    answer, _ = await ask([closing(BODIES[provider]), DROP], provider=provider)
    assert answer.calls == OPENAI_CALLS


async def test_a_server_that_holds_the_connection_after_the_last_word_does_not_hold_us() -> None:
    before = time.monotonic()
    answer, _ = await ask([START + chunk(OPENAI), HANG])
    assert answer.text == OPENAI_TEXT
    assert time.monotonic() - before < 60


async def test_a_stream_is_seen_while_it_comes() -> None:
    seen: asyncio.Queue[object] = asyncio.Queue()
    play = [START + chunk(data(delta({"content": "one"}))), HANG]
    async with asked(play) as (chain, _):
        asking = asyncio.create_task(chain.ask(HELLO, seen.put_nowait))
        assert await asyncio.wait_for(seen.get(), 30) == TextDelta("one")
        asking.cancel()
        await asyncio.wait([asking])


@protocols
async def test_cancelling_closes_the_connection_at_once(provider: str) -> None:
    for play in ([HANG], [START, HANG], [START + chunk(first_events(provider)), HANG]):
        async with asked(play, provider=provider) as (chain, server):
            asking = asyncio.create_task(chain.ask(HELLO, lambda _: None))
            await asyncio.wait_for(server.asked.wait(), 30)
            await asyncio.sleep(0.02)
            asking.cancel()
            before = time.monotonic()
            await asyncio.wait([asking])
            await asyncio.wait_for(server.gone.wait(), 30)
            assert time.monotonic() - before < 30  # the server itself would wait for ever
            assert asking.cancelled()


async def test_a_server_that_is_not_there_is_silent_and_says_where_it_should_be() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        chain = build(
            ProviderSettings(provider="custom", base_url=url, name="m", patience=ONCE), {}
        )
        with pytest.raises(ProviderSilent, match="cannot connect") as told:
            await chain.ask(HELLO, lambda _: None)
        await chain.aclose()
    assert url in str(told.value)


async def test_a_server_that_does_not_take_the_connection_is_silent() -> None:
    """A queue of one that is full: the system answers no further knocks."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for admit_stranger in (first, second):
            admit_stranger.setblocking(False)
            admit_stranger.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
        waits = ProviderTimeouts(connect_s=0.2)
        settings = ProviderSettings(
            provider="custom", base_url=url, name="m", patience=ONCE, timeouts=waits
        )
        chain = build(settings, {})
        with pytest.raises(ProviderSilent, match=r"no connection to .* within 0\.2 s"):
            await chain.ask(HELLO, lambda _: None)
        await chain.aclose()


@protocols
async def test_no_first_token_in_time_is_silence_whatever_else_comes(provider: str) -> None:
    role = data(delta({"role": "assistant", "content": ""}))
    waiting = {"custom": role, "custom-anthropic": first_events("custom-anthropic", 2)}
    life = [chunk(waiting[provider] + b": keep-alive\n\n"), 0.05] * 40
    for play in ([HANG], [START, HANG], [START, *life, HANG]):
        with pytest.raises(ProviderSilent, match=r"no first token within 0\.2 s"):
            await ask(play, provider=provider, timeouts=HURRIED)


@protocols
async def test_silence_in_the_middle_is_noticed(provider: str) -> None:
    play = [START + chunk(first_events(provider)), HANG]
    with pytest.raises(ProviderSilent, match=r"silent for 0\.2 s in the middle"):
        await ask(play, provider=provider, timeouts=ProviderTimeouts(silence_s=0.2))


@protocols
async def test_each_event_after_the_first_token_moves_the_deadline(provider: str) -> None:
    """So a slow answer is no silence. The clock is not waited for: the deadline is looked at."""
    loop = asyncio.get_running_loop()
    fold = FOLDS[provider](EndpointLabel(name="p:m", url="u", key_hint="k"), HELLO)
    looked: list[bool] = []
    async with asyncio.timeout(1000) as deadline:
        first_token = deadline.when()

        async def pieces() -> AsyncIterator[bytes]:
            for event in BODIES[provider].split(b"\n\n"):
                asked_at = loop.time()
                yield event + b"\n\n"
                moved = deadline.when() != first_token
                assert moved is (fold.started and not fold.finished)
                assert not moved or asked_at + 50 <= (deadline.when() or 0) <= loop.time() + 50
                looked.append(moved)

        listener = wire.Listener(fold, lambda _: None, deadline, silence_s=50, over=1e9)
        await listener.listen(b"", pieces())
    assert looked[0] is False
    assert looked[-1] is True


async def test_an_answer_that_never_ends_is_ended() -> None:
    drip = [chunk(data(delta({"content": "x"}))), 0.02] * 10_000
    with pytest.raises(ProviderSilent, match=r"did not finish its answer within 0\.4 s"):
        await asyncio.wait_for(ask([START, *drip], timeouts=ProviderTimeouts(total_s=0.4)), 60)


@protocols
async def test_a_plain_answer_to_a_streaming_question_is_taken(provider: str) -> None:
    call = {"id": "x", "function": {"name": "t", "arguments": '{"a":1}'}}
    use = {"type": "tool_use", "id": "u", "name": "t", "input": {"a": 1}}
    bodies = {
        "custom": {
            "choices": [
                {
                    "message": {"content": "hi", "reasoning_content": "hm", "tool_calls": [call]},
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        },
        "custom-anthropic": {
            "type": "message",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "hi"},
                use,
            ],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 3, "output_tokens": 2},
        },
    }
    answer, seen = await ask([plain(bodies[provider])], provider=provider)
    assert (answer.text, answer.finish) == ("hi", "calls")
    assert [json.loads(call.arguments) for call in answer.calls] == [{"a": 1}]
    assert [thought.text for thought in answer.thoughts] == ["hm"]
    assert (answer.usage.input, answer.usage.output) == (3, 2)
    assert TextDelta("hi") in seen


@protocols
async def test_an_answer_in_no_known_protocol_is_garbled_and_shown(provider: str) -> None:
    pages = [b"<html><body>Welcome to nginx", b"data: {]\n\n", b"", b"data: 1\n\n", b"{}", b"[]"]
    for page in pages:
        with pytest.raises(ProviderGarbled) as told:
            await ask([plain(page)], provider=provider)
        assert "\n" not in str(told.value)
    with pytest.raises(ProviderGarbled, match="Welcome to nginx"):
        await ask([plain(pages[0])], provider=provider)


async def test_what_is_no_http_at_all_is_garbled() -> None:
    for raw in (b"SSH-2.0-OpenSSH_9.2\r\n", b"\x16\x03\x01\x02\x00", b"HTTP/9.9 banana\r\n\r\n"):
        with pytest.raises(ProviderGarbled):
            await ask([raw, DROP])


async def test_a_compressed_answer_is_garbled_and_says_so() -> None:
    with pytest.raises(ProviderGarbled, match="compressed with gzip, which was not requested"):
        await ask([plain(b"{}", content_encoding="gzip")])


async def test_a_compressed_complaint_is_not_shown_to_anybody() -> None:
    with pytest.raises(ProviderBusy, match="answered 500: no reason given"):
        await ask([plain(b"\x1f\x8b", 500, content_encoding="gzip")])


async def test_an_event_without_end_is_refused() -> None:
    endless = chunk(b"data: " + b"x" * 1_000_000)
    play = [START, *[endless] * (EVENT_BYTES_MAX // 1_000_000 + 2), HANG]
    with pytest.raises(ProviderGarbled, match="an event of more than"):
        await ask(play, timeouts=ProviderTimeouts(first_token_s=20))


async def test_an_answer_without_end_is_refused() -> None:
    comments = chunk(b": " + b"x" * 3_999_990 + b"\n")
    play = [START, *[comments] * (wire.ANSWER_BYTES_MAX // 4_000_000 + 2), HANG]
    with pytest.raises(ProviderGarbled, match="an answer of more than"):
        await ask(play, timeouts=ProviderTimeouts(first_token_s=20))


async def test_a_redirect_is_not_followed_with_the_key() -> None:
    with pytest.raises(ProviderRefused, match=r"redirects to https://elsewhere\.example"):
        await ask([plain(b"", status=307, location="https://elsewhere.example/v1")])


async def test_a_proxy_of_the_environment_is_not_asked_for_our_own_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    answer, _ = await ask([chunked(OPENAI)])
    assert isinstance(answer, Answer)
