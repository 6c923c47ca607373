"""Translate a server's error response into an error of ours. Pure.

Every text is one line that a person can act on, and none contains the key.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from hermes.core.errors import (
    ContextOverflow,
    ProviderBusy,
    ProviderDenied,
    ProviderFailed,
    ProviderRefused,
)
from hermes.lazy import LazyPattern
from hermes.providers.endpoint import MESSAGE_CHARS_MAX, EndpointLabel
from hermes.text.http_dates import parse_http_date

DEPTH_MAX: Final = 6

_OVERFLOW_CODES: Final = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"}
)
_OVERFLOW: Final = LazyPattern(
    "|".join(
        (
            "context[ _]length",
            "context window",
            "context limit",
            "context size",
            r"prompt (is )?too long",
            "input (is )?too long",
            "maximum prompt length",
            "maximum model length",
            "prompt exceeds max length",
            "exceeded model token limit",
            "input token count",
            "too many (input )?tokens",
            "request too large for model",
            "reduce the length of the (messages|prompt)",
            r"`inputs` tokens \+ `max_new_tokens` must be",
        )
    ),
    re.IGNORECASE,
)
_WINDOW: Final = LazyPattern(
    r"(?:context (?:length|window|size|limit)|model length|prompt length|token limit|limit)"
    r"(?: is| of|:| for this model is)?[ (=]{1,3}(\d[\d,]{2,11})\b|> ?(\d[\d,]{2,11}) maximum"
    r"|(?:at most|maximum of|n_ctx[ =:]{1,3}) ?(\d[\d,]{2,11})\b",
    re.IGNORECASE,
)
_NO_CREDIT: Final = LazyPattern(
    "insufficient[_ ](quota|balance|credit|funds)|credit balance|exceeded_current_quota"
    "|billing_(error|hard_limit)|out of credit",
    re.IGNORECASE,
)
_BAD_KEY: Final = LazyPattern(r"\bapi[ _-]?key\b|invalid_authentication", re.IGNORECASE)
_ASKED_DELAY: Final = re.compile(rb'"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"')

_STATUS_OF: Final[Mapping[str, int]] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "insufficient_quota": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "context_length_exceeded": 400,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class Complaint(Struct, frozen=True, kw_only=True):
    """The server's own message, extracted from whatever format it used."""

    message: str = ""
    kinds: tuple[str, ...] = ()  # its error type and code
    status: int | None = None  # where the code is a number, or a name that means one
    window: int = 0  # the context window, where it is a field of its own


def failure(
    whom: EndpointLabel, status: int, headers: Mapping[str, str], body: bytes, *, now: float
) -> ProviderFailed:
    """Return the error for an HTTP status. `now` is the wall clock, for a Retry-After that is a
    date."""
    if 300 <= status < 400:
        target = whom.line(headers.get("location", "elsewhere"))
        return ProviderRefused(
            f"{whom.name}: {whom.url} redirects to {target}. Set model.base_url to the final URL."
        )
    delay_s = asked_delay(headers, body, now=now)
    return classified(whom, status, complaint(body), delay_s=delay_s)


def classified(
    whom: EndpointLabel, status: int, said: Complaint, *, delay_s: float | None = None
) -> ProviderFailed:
    """Return the error for a message: by status first, by well-known words second."""
    words = " ".join((*said.kinds, said.message))
    text = whom.line(said.message or "no reason given").rstrip(".")
    start = f"{whom.name} answered {status}: {text}."
    if _is_overflow(status, said):
        return ContextOverflow(
            f"{start} The conversation is longer than the model's context window.",
            window=said.window or stated_window(said.message),
        )
    if status == 402 or (status in (400, 403, 429) and _NO_CREDIT.search(words)):
        return ProviderDenied(f"{start} The account is out of credit; top it up at the provider.")
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(words)):
        return ProviderDenied(f"{start} {whom.key_hint}.")
    if status == 404:
        return ProviderRefused(f"{start} Check model.name and model.base_url ({whom.url}).")
    if status in (408, 409, 425, 429) or (status >= 500 and status not in (501, 505)):
        what = "It is busy" if status in (429, 503, 529) else "It has a temporary problem"
        return ProviderBusy(f"{start} {what}; try again later.", delay_s=delay_s)
    return ProviderRefused(f"{start} The provider rejected the request.")


def stated_window(message: str) -> int:
    """Return the number of tokens that an overflow error says the model reads; 0 if it says
    none."""
    found = _WINDOW.search(message)
    number = next((each for each in found.groups() if each), "") if found is not None else ""
    return int(number.replace(",", "")) if number else 0


def complained(whom: EndpointLabel, error: object) -> ProviderFailed:
    """Return the error for a message in the middle of a stream, where the status was already
    200."""
    said = _find(error, 0)
    return classified(whom, said.status or 500, said)


def complaint(body: bytes) -> Complaint:
    """Extract the message from JSON of any known form; else the first words of the body."""
    try:
        value: object = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        text = re.sub(r"<[^<>]{0,200}>", " ", body[:4000].decode("utf-8", "replace"))
        return Complaint(message=" ".join(text.split())[:MESSAGE_CHARS_MAX])
    return _find(value, 0)


def asked_delay(headers: Mapping[str, str], body: bytes, *, now: float) -> float | None:
    """Return the delay that the server asks for: in ms, in s, as a date, or in the body."""
    if (ms := _number(headers.get("retry-after-ms"))) is not None:
        return ms / 1000
    after = headers.get("retry-after")
    if (seconds := _number(after)) is not None:
        return seconds
    if after is not None:
        try:
            return max(0.0, parse_http_date(after) - now)
        except (ValueError, TypeError, OverflowError):
            return None
    found = _ASKED_DELAY.search(body[:20_000])
    return float(found.group(1)) if found else None


def _number(text: str | None) -> float | None:
    if text is None or not re.fullmatch(r"\s*-?\d{1,12}(\.\d{1,12})?\s*", text):
        return None
    return max(0.0, float(text))


def _is_overflow(status: int, said: Complaint) -> bool:
    if status == 413 or _OVERFLOW_CODES.intersection(said.kinds):
        return True
    return status in (400, 422, 500) and bool(_OVERFLOW.search(said.message))


def _find(value: object, depth: int) -> Complaint:
    """Walk into `error`, `message`, `detail` and first elements until there is text."""
    if depth > DEPTH_MAX:
        return Complaint()
    if isinstance(value, str):
        return Complaint(message=value)
    if isinstance(value, list):
        return _find(value[0], depth + 1) if value else Complaint()
    if not isinstance(value, dict):
        return Complaint()
    kinds = tuple(str(value[key]) for key in ("type", "code", "status") if value.get(key))
    inner = Complaint()
    for key in ("error", "message", "detail", "msg", "error_message"):
        if value.get(key):
            inner = _find(value[key], depth + 1)
            break
    status = inner.status if inner.status is not None else _status(kinds)
    window = value.get("n_ctx") if isinstance(value.get("n_ctx"), int) else inner.window
    return Complaint(
        message=inner.message, kinds=(*kinds, *inner.kinds), status=status, window=int(window or 0)
    )


def _status(kinds: tuple[str, ...]) -> int | None:
    for kind in kinds:
        if kind in _STATUS_OF:
            return _STATUS_OF[kind]
        if re.fullmatch(r"[45]\d\d", kind):
            return int(kind)
    return None
