"""A stream that ends anywhere but at its end is never taken for an answer."""

import asyncio
import contextlib
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.core.errors import ProviderFailed
from hermes.core.messages import Usage
from hermes.core.ports import Answer
from hermes.providers.anthropic_fold import AnthropicFold
from hermes.providers.endpoint import EndpointLabel
from hermes.providers.openai_fold import OpenAIFold
from hermes.providers.sse import EventReader
from tests.unit.providers.asking import PROTOCOLS, ask, asked
from tests.unit.providers.recordings import (
    ANTHROPIC,
    ANTHROPIC_SHORT,
    HELLO,
    OPENAI,
    OPENAI_SHORT,
)
from tests.unit.providers.servers import DROP, chunked, closing, head, plain

WHOM = EndpointLabel(name="p:m", url="http://x", key_hint="Set X")
LONG = {"custom": OPENAI, "custom-anthropic": ANTHROPIC}
SHORT = {"custom": OPENAI_SHORT, "custom-anthropic": ANTHROPIC_SHORT}
FOLDS = {"custom": OpenAIFold, "custom-anthropic": AnthropicFold}
framings = pytest.mark.parametrize("framed", [chunked, closing])
protocols = pytest.mark.parametrize("provider", PROTOCOLS)


def folded(provider: str, body: bytes, piece: int) -> Answer:
    """Without any socket: the events of `body`, read in pieces of that size."""
    fold, reader = FOLDS[provider](WHOM, HELLO), EventReader()
    for at in range(0, len(body), piece):
        for event in reader.feed(body[at : at + piece]):
            fold.take(event)
    for event in reader.end():
        fold.take(event)
    return fold.answer("p:m")


@protocols
def test_an_answer_is_the_same_in_pieces_of_every_size(provider: str) -> None:
    whole = folded(provider, LONG[provider], len(LONG[provider]))
    for piece in range(1, 90):
        assert folded(provider, LONG[provider], piece) == whole


@protocols
def test_a_long_stream_cut_at_every_byte_gives_the_whole_answer_or_an_error(provider: str) -> None:
    body = LONG[provider]
    whole = folded(provider, body, 64)
    for end in range(len(body)):
        try:
            answer = folded(provider, body[:end], 64)
        except ProviderFailed:
            continue
        assert replace(answer, usage=Usage()) == replace(whole, usage=Usage())


@framings
@protocols
async def test_a_connection_cut_at_every_byte_gives_the_whole_answer_or_an_error(
    provider: str, framed: Callable[[bytes], bytes]
) -> None:
    raw = framed(SHORT[provider])
    whole, _ = await ask([raw, DROP], provider=provider)
    step = 1 if framed is chunked else 4  # the fold above was cut at every byte without an end mark
    plays = [[raw[:end], DROP] for end in range(0, len(raw), step)]
    answers, errors = 0, 0
    async with asked(*plays, provider=provider) as (chain, _):
        for _ in plays:
            try:
                answer = await chain.ask(HELLO, lambda _: None)
            except ProviderFailed:
                errors += 1
                continue
            answers += 1
            if framed is closing:  # nothing marks the end here, so the counts may be lost
                answer, whole = replace(answer, usage=Usage()), replace(whole, usage=Usage())
            assert answer == whole
    assert errors > answers


@protocols
async def test_a_plain_answer_cut_anywhere_is_an_error(provider: str) -> None:
    body = b'{"type": "message", "choices": [{"message": {"content": "hi"}}], "content": []}'
    for end in range(0, len(body), 5):
        start = head(content_type="application/json", connection="close")
        with pytest.raises(ProviderFailed):
            await ask([start + body[:end], DROP], provider=provider)


noise = st.one_of(
    st.binary(max_size=300),
    st.sampled_from([OPENAI_SHORT, ANTHROPIC_SHORT]).flatmap(
        lambda body: st.builds(
            lambda at, bad: body[:at] + bad + body[at + len(bad) :],
            st.integers(0, len(body)),
            st.binary(min_size=1, max_size=4),
        )
    ),
)


@given(noise, st.sampled_from(PROTOCOLS))
@settings(max_examples=400, deadline=None)
def test_noise_in_a_stream_is_an_answer_or_an_error_and_never_a_crash(
    body: bytes, provider: str
) -> None:
    with contextlib.suppress(ProviderFailed):
        folded(provider, body, 64)


@given(st.one_of(noise.map(chunked), noise.map(plain), noise), st.sampled_from(PROTOCOLS))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_noise_on_the_socket_is_an_answer_or_an_error_and_never_a_crash(
    raw: bytes, provider: str
) -> None:
    async def once() -> None:
        with contextlib.suppress(ProviderFailed):
            await ask([raw, DROP], provider=provider)

    asyncio.run(once())
