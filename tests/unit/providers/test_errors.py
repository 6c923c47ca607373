"""Each way in which a server says no, as the error that says what to do."""

import asyncio
import json
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from hermes.core.errors import (
    ContextOverflow,
    ProviderBusy,
    ProviderDenied,
    ProviderFailed,
    ProviderRefused,
    ProviderTransient,
)
from hermes.providers.endpoint import EndpointLabel
from hermes.providers.failures import asked_delay, classified, complaint, failure
from tests.unit.providers.asking import PROTOCOLS, ask, asked
from tests.unit.providers.recordings import HELLO, KEY, data, delta, events
from tests.unit.providers.servers import HANG, chunked, head, plain

WHOM = EndpointLabel(name="p:m", url="http://x/v1", key_hint="Set P_KEY in .env", secret=KEY)
protocols = pytest.mark.parametrize("provider", PROTOCOLS)


@protocols
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ProviderRefused),
        (401, ProviderDenied),
        (402, ProviderDenied),
        (403, ProviderDenied),
        (404, ProviderRefused),
        (408, ProviderBusy),
        (409, ProviderBusy),
        (413, ContextOverflow),
        (422, ProviderRefused),
        (429, ProviderBusy),
        (500, ProviderBusy),
        (501, ProviderRefused),
        (502, ProviderBusy),
        (503, ProviderBusy),
        (504, ProviderBusy),
        (529, ProviderBusy),
    ],
)
async def test_each_status_has_its_error(
    status: int, kind: type[ProviderFailed], provider: str
) -> None:
    with pytest.raises(kind) as told:
        await ask([plain({"error": {"message": "no\nway"}}, status=status)], provider=provider)
    assert type(told.value) is kind
    text = str(told.value)
    assert text.startswith(f"{provider}:m answered {status}: no way.")
    assert "\n" not in text


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, {"code": "context_length_exceeded", "message": "x"}, ContextOverflow),
        (400, {"message": "prompt is too long: 200001 tokens > 200000 maximum"}, ContextOverflow),
        (400, {"message": "This model's maximum context length is 4096 tokens."}, ContextOverflow),
        (400, {"type": "exceed_context_size_error", "message": "x"}, ContextOverflow),
        (400, {"message": "The input token count (9) exceeds the maximum"}, ContextOverflow),
        (400, {"message": "Your request exceeded model token limit: 8192"}, ContextOverflow),
        (400, {"message": "input length and `max_tokens` exceed context limit"}, ContextOverflow),
        (422, {"message": "Prompt too long"}, ContextOverflow),
        (400, {"message": "max_tokens: 99999 > 8192, the maximum output"}, ProviderRefused),
        (400, {"message": "Your credit balance is too low"}, ProviderDenied),
        (400, {"message": "API key not valid. Please pass a valid API key."}, ProviderDenied),
        (429, {"code": "insufficient_quota", "message": "x"}, ProviderDenied),
        (429, {"code": "1113", "message": "Insufficient balance"}, ProviderDenied),
        (429, {"message": "slow down"}, ProviderBusy),
        (500, {"message": "the request exceeds the available context size"}, ContextOverflow),
    ],
)
def test_well_known_words_decide_where_the_status_does_not(
    status: int, error: object, kind: type[ProviderFailed]
) -> None:
    said = complaint(json.dumps({"error": error}).encode())
    assert type(classified(WHOM, status, said)) is kind


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "one", "type": "t"}}', "one"),
        (b'{"type": "error", "error": {"type": "t", "message": "one"}}', "one"),
        (b'{"error": "one"}', "one"),
        (b'[{"error": {"code": 400, "message": "one"}}]', "one"),
        (b'{"object": "error", "message": "one", "code": 3280}', "one"),
        (b'{"detail": [{"loc": ["body"], "msg": "one"}]}', "one"),
        (b'{"detail": "one"}', "one"),
        (b"<html><h1>one</h1></html>", "one"),
        (b"one", "one"),
        (b"", ""),
        (b"[]", ""),
        (b"3", ""),
        (b'{"error": {}}', ""),
        (b"[" * 50_000, "[" * 300),
    ],
)
def test_the_words_are_found_in_every_known_shape(body: bytes, message: str) -> None:
    assert complaint(body).message == message


@pytest.mark.parametrize(
    ("headers", "delay_s"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": format_datetime(datetime.fromtimestamp(1_000_090, UTC))}, 90.0),
        ({"retry-after": format_datetime(datetime.fromtimestamp(999_000, UTC))}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "99999999999999999999"}, None),
        ({}, None),
    ],
)
def test_a_wished_delay_is_read_in_each_of_its_forms(
    headers: dict[str, str], delay_s: float | None
) -> None:
    assert asked_delay(headers, b"", now=1_000_000.0) == delay_s


def test_a_wished_delay_is_found_in_the_body_too() -> None:
    body = b'[{"error": {"details": [{"@type": "RetryInfo", "retryDelay": "34.5s"}]}}]'
    assert asked_delay({}, body, now=0.0) == 34.5


async def test_a_delay_reaches_the_error() -> None:
    with pytest.raises(ProviderTransient) as told:
        await ask([plain({"error": "slow down"}, status=429, retry_after="30")])
    assert told.value.delay_s == 30.0


@protocols
async def test_an_error_in_the_middle_of_a_stream_has_its_type(provider: str) -> None:
    for error, kind in (
        ({"type": "overloaded_error", "message": "Overloaded"}, ProviderBusy),
        ({"type": "authentication_error", "message": "no"}, ProviderDenied),
        ({"code": 429, "message": "slow down"}, ProviderBusy),
        ({"type": "invalid_request_error", "message": "prompt is too long"}, ContextOverflow),
        ({"message": "what?"}, ProviderBusy),
    ):
        streams = {
            "custom": data(delta({"content": "I am"}), {"error": error}),
            "custom-anthropic": events({"type": "ping"}, {"type": "error", "error": error}),
        }
        with pytest.raises(kind) as told:
            await ask([chunked(streams[provider])], provider=provider)
        assert type(told.value) is kind


async def test_a_status_is_not_kept_waiting_for_its_words() -> None:
    play = [head(503, content_type="application/json", content_length="99") + b"{", HANG]
    with pytest.raises(ProviderBusy, match="answered 503"):
        await asyncio.wait_for(ask(play), 60)


async def test_an_error_with_status_200_is_an_error() -> None:
    with pytest.raises(ProviderBusy, match="slow down"):
        await ask([plain({"error": {"message": "slow down", "code": 429}})])


@protocols
async def test_the_key_is_in_no_error_and_no_name(provider: str) -> None:
    """Even where the server repeats it."""
    echo = {"error": {"message": f"Incorrect key {KEY}; you sent {KEY}"}}
    for status in (302, 400, 401, 404, 429, 500):
        play = [plain(echo, status=status, location=f"https://x.example/?key={KEY}")]
        async with asked(play, provider=provider) as (chain, server):
            with pytest.raises(ProviderFailed) as told:
                await chain.ask(HELLO, lambda _: None)
            shown = f"{told.value} {told.value!r} {told.value.args} {chain!r} {chain.name}"
            assert KEY not in shown
            assert any(KEY in value for value in server.taken[0].headers.values())


async def test_a_refused_key_names_the_variable_to_set() -> None:
    with pytest.raises(ProviderDenied, match=r"Check the key in model\.api_key"):
        await ask([plain({"error": "no"}, status=401)])
    with pytest.raises(ProviderDenied, match=r"Set CUSTOM_API_KEY in \.env"):
        await ask([plain({"error": "no"}, status=401)], api_key="")


def test_a_long_complaint_is_cut() -> None:
    text = str(failure(WHOM, 400, {}, b'{"error": "' + b"x" * 100_000 + b'"}', now=0.0))
    assert len(text) < 500
