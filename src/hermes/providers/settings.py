"""What a person may set about a model, as values. Made from `model.…` by the program."""

from collections.abc import Mapping

from msgspec import Struct


class Timeouts(Struct, frozen=True, kw_only=True):
    """How long a server may take. A model that thinks in silence needs a long first token."""

    connect_s: float = 10.0
    first_token_s: float = 300.0
    silence_s: float = 120.0
    total_s: float = 3600.0


class Patience(Struct, frozen=True, kw_only=True):
    """How often and how long one provider is asked again before the next one is."""

    attempts_max: int = 4
    base_s: float = 1.0  # the first wait is a random part of this; it doubles with each attempt
    backoff_max_s: float = 30.0
    asked_delay_max_s: float = 120.0  # a Retry-After beyond this is a refusal
    total_s: float = 1800.0


class ModelSettings(Struct, frozen=True, kw_only=True):
    """One model: who serves it, where, and how it is asked. The key does not show itself."""

    provider: str = ""
    name: str = ""
    base_url: str = ""
    api_key: str = ""
    context_length: int | None = None
    timeouts: Timeouts = Timeouts()
    patience: Patience = Patience()
    headers: Mapping[str, str] = {}
    body: Mapping[str, object] = {}  # goes into every request as it is
    fallback: tuple["ModelSettings", ...] = ()

    def __repr__(self) -> str:
        return f"ModelSettings({self.provider!r}, {self.name!r}, {self.base_url!r})"
