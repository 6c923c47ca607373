"""Who may find what: which sessions a search looks at, by the lane in which it was asked.

Everybody in a chat reads the answer there, so the place decides and not the person: a platform
that is the owner's alone sees everything, a chat of two sees all its own lanes, anything else (a
group, a thread, a lane that works beside a chat, one that programs write to) sees itself.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from hermes.core.ids import SessionKey, name_of
from hermes.core.people import is_direct
from hermes.core.principal import Audience


class Scope(Struct, frozen=True):
    """All sessions, those of one chat, or one lane. `key` is the lane's, or what the keys of the
    chat's lanes begin with."""

    width: Literal["all", "chat", "lane"]
    key: SessionKey = SessionKey("")

    def covers(self, key: SessionKey) -> bool:
        within = self.width == "chat" and key.startswith(f"{self.key}:")
        return self.width == "all" or key == self.key or within


EVERYTHING = Scope("all")


def scope_of(key: SessionKey, audience: Audience = "people", direct: bool | None = None) -> Scope:
    """What may be found from this session. `direct` is of the chat that the question came from."""
    name = name_of(key)
    if name is None:
        return Scope("lane", key)
    if audience == "owner":
        return EVERYTHING
    together = audience == "people" and is_direct(key, direct)
    return Scope("chat", name.whole_chat) if together else Scope("lane", key)


def chat_of(key: SessionKey) -> SessionKey:
    """What the keys of all lanes of this chat begin with."""
    name = name_of(key)
    return name.whole_chat if name is not None else key


def marked(text: str, marks: Sequence[tuple[int, int]]) -> str:
    """With the words that were looked for in [brackets]."""
    for start, stop in sorted(marks, reverse=True):
        text = f"{text[:start]}[{text[start:stop]}]{text[stop:]}"
    return text
