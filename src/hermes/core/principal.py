"""On whose behalf something is done. It is handed down from message to message and only weakens.

What may be done is the weaker of the ceiling that a message carries and of its person's role now.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Literal

from msgspec import Struct

# `result` is no message of anybody: it ends a call that was deferred.
Origin = Literal[
    "person", "schedule", "webhook", "parent", "boot", "background", "relay", "review", "result"
]
# Who speaks on a platform: the owner alone, people, or programs while no person watches.
Audience = Literal["owner", "people", "unattended"]
AudienceOf = Callable[[str], Audience]  # of a platform, by its name
HOPS_MAX = 8  # messages between a person and what is done in their name


class Role(IntEnum):
    """Who a person is to us, the most trusted first."""

    OWNER = 0
    PAIRED = 1
    MEMBER = 2  # let in by the room, not as a person
    STRANGER = 3


class Person(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who speaks. `id` is the platform's immutable one; the name is only for display."""

    id: str
    name: str = ""


class Address(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a reply goes."""

    platform: str
    chat: str
    thread: str = ""
    account: str = ""


class Principal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who is behind a message. It is answered at its own address; `ask` is where its owner is
    asked. Without a person it comes from the owner's process, and the ceiling alone counts."""

    person: Person | None = None
    spoke: Address | None = None  # where the person spoke: a room may let in whom we do not know
    direct: bool = False  # in a chat of two
    ceiling: Role = Role.OWNER  # a limit, never a grant
    ask: Address | None = None  # None: at home
    via: tuple[Origin, ...] = ()  # what handed it on, the first first
    labels: tuple[str, ...] = ()  # of all that was read on the way


PROCESS = Principal()  # the owner's own: what the gateway does by itself
NOBODY = Principal(ceiling=Role.STRANGER)
# What a message without a principal may do, where no person said it.
UNSIGNED: Mapping[Origin, Role] = {
    "boot": Role.OWNER,
    "review": Role.OWNER,
    "relay": Role.OWNER,  # it is passed on, and begins nothing
    "result": Role.OWNER,  # it ends a call, and begins nothing
    "webhook": Role.PAIRED,  # others write events, even signed ones
    "schedule": Role.STRANGER,
    "parent": Role.STRANGER,
}
