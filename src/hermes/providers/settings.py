"""Settings of a model, as values, read from `model.…`."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

ModelProfile = Literal["auto", "full", "small"]


class ProviderTimeouts(Struct, frozen=True, kw_only=True):
    """How long a server may take. A model that reasons silently needs a long first-token limit."""

    connect_s: float = 10.0
    first_token_s: float = 300.0
    silence_s: float = 120.0
    total_s: float = 3600.0


class RetryLimits(Struct, frozen=True, kw_only=True):
    """How often and how long one provider is retried before the next one is asked."""

    attempts_max: int = 4
    base_s: float = 1.0  # the first wait is a random part of this; it doubles with each attempt
    backoff_max_s: float = 30.0
    asked_delay_max_s: float = 120.0  # a Retry-After beyond this is a refusal
    total_s: float = 1800.0


class ProviderSettings(Struct, frozen=True, kw_only=True):
    """One model: its provider, its URL, and how it is asked. The key is hidden from the text
    form."""

    provider: str = ""
    name: str = ""
    base_url: str = ""
    api_key: str = ""
    context_length: int | None = None
    profile: ModelProfile = "auto"
    timeouts: ProviderTimeouts = ProviderTimeouts()
    patience: RetryLimits = RetryLimits()
    headers: Mapping[str, str] = {}
    body: Mapping[str, object] = {}  # goes into every request as it is
    fallback: tuple["ProviderSettings", ...] = ()
    weights: str = ""  # the folder of the built-in models' weights; "": the usual one

    def __repr__(self) -> str:
        return f"ProviderSettings({self.provider!r}, {self.name!r}, {self.base_url!r})"
