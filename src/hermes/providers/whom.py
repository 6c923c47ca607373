"""Whom a request goes to, as values: what may be shown of it, and what it carries."""

import ipaddress
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from hermes.providers.settings import Timeouts

MESSAGE_CHARS_MAX: Final = 300
SECRET_CHARS_MIN: Final = 4  # what is shorter is no key, and would blot out innocent words


class Whom(Struct, frozen=True, kw_only=True):
    """Whom we asked, for people: where it is, and which setting holds its key."""

    name: str  # provider:model
    url: str
    key_hint: str  # how to set the key, a sentence without its full stop
    secret: str = ""

    def __repr__(self) -> str:
        return f"Whom({self.name!r}, {self.url!r})"

    def line(self, text: str) -> str:
        """One line, of bounded length, without the key."""
        if len(self.secret) >= SECRET_CHARS_MIN:
            text = text.replace(self.secret, "•••")
        text = " ".join(text.split())
        if len(text) > MESSAGE_CHARS_MAX:
            text = text[: MESSAGE_CHARS_MAX - 1] + "…"
        return text


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where requests go and what they carry. `headers` hold the key and do not show themselves."""

    whom: Whom
    base_url: str
    headers: Mapping[str, str]
    timeouts: Timeouts

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r})"


def is_loopback(url: str) -> bool:
    """Our own machine: asked directly, whatever the environment says about proxies."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, or no URL
        return False
