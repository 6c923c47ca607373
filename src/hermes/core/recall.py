"""Who may find what: which sessions a search looks at, by the lane in which it was asked.

Everybody in a chat reads the answer there, so the place decides and not the person: the terminal
and the API are the owner's and see everything, a chat of two sees all its own lanes, anything else
(a group, a thread, a lane that works beside a chat) sees itself.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from hermes.core.ids import SessionKey

STRANGERS = frozenset({"webhook"})  # platforms where a chat is a route that anybody may write to
OWNED = frozenset({"local", "api"})  # platforms that only the owner can speak on


class Scope(Struct, frozen=True):
    """All sessions, those of one chat, or one lane. `key` is the lane's, or what the keys of the
    chat's lanes begin with."""

    width: Literal["all", "chat", "lane"]
    key: SessionKey = SessionKey("")

    def covers(self, key: SessionKey) -> bool:
        within = self.width == "chat" and key.startswith(f"{self.key}:")
        return self.width == "all" or key == self.key or within


EVERYTHING = Scope("all")


def scope_of(key: SessionKey) -> Scope:
    """What may be found from this lane."""
    parts = key.split(":")
    if len(parts) < 5:
        return Scope("lane", key)
    if parts[2] in OWNED:
        return EVERYTHING
    together = parts[3] == "dm" and parts[2] not in STRANGERS
    return Scope("chat", chat_of(key)) if together else Scope("lane", key)


def chat_of(key: SessionKey) -> SessionKey:
    """What the keys of all lanes of this chat begin with."""
    return SessionKey(":".join(key.split(":")[:5]))


def marked(text: str, marks: Sequence[tuple[int, int]]) -> str:
    """With the words that were looked for in [brackets]."""
    for start, stop in sorted(marks, reverse=True):
        text = f"{text[:start]}[{text[start:stop]}]{text[stop:]}"
    return text
