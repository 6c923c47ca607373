"""Where a request goes, as values: what may be shown of it, and what it carries."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from hermes.providers.settings import ProviderTimeouts

MESSAGE_CHARS_MAX: Final = 300
SECRET_CHARS_MIN: Final = 4  # what is shorter is no key, and would blot out innocent words


class EndpointLabel(Struct, frozen=True, kw_only=True):
    """The endpoint for people: its URL, and the setting that holds its key."""

    name: str  # provider:model
    url: str
    key_hint: str  # how to set the key, a sentence without its full stop
    secret: str = ""

    def __repr__(self) -> str:
        return f"Whom({self.name!r}, {self.url!r})"

    def line(self, text: str) -> str:
        """Return one line of bounded length, without the key."""
        if len(self.secret) >= SECRET_CHARS_MIN:
            text = text.replace(self.secret, "•••")
        text = " ".join(text.split())
        if len(text) > MESSAGE_CHARS_MAX:
            text = text[: MESSAGE_CHARS_MAX - 1] + "…"
        return text


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where requests go and what they carry. `headers` hold the key and are hidden from the text
    form."""

    whom: EndpointLabel
    base_url: str
    headers: Mapping[str, str]
    timeouts: ProviderTimeouts

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r})"
