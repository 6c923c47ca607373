"""Names for the things we point at. Every id is its own type, so a swapped pair is a type error."""

from typing import Literal, NewType

from msgspec import Struct

SessionKey = NewType("SessionKey", str)  # where it happens: agent:main:{platform}:{type}:{chat}
SessionId = NewType("SessionId", str)  # which conversation is current there
MessageId = NewType("MessageId", str)  # one inbound message, unique within its account
TurnId = NewType("TurnId", str)
CallId = NewType("CallId", str)  # {turn}-{ordinal}: unique everywhere, safe as a file name
ReplyId = NewType("ReplyId", str)  # {turn or message}/{ordinal}
NodeId = NewType("NodeId", str)  # one running process

MAIN_AGENT = "main"


def session_key(platform: str, kind: str, chat: str, *rest: str) -> SessionKey:
    """The lane of a chat. Parts from outside cannot forge another lane: `:` and `%` are escaped."""
    parts = [_escaped(part) for part in (platform, kind, chat, *rest) if part]
    return SessionKey(":".join(["agent", MAIN_AGENT, *parts]))


class Isolation(Struct, frozen=True, kw_only=True):
    """Who shares a conversation in a group, and in a thread of it."""

    groups: Literal["person", "shared"] = "person"
    threads: Literal["person", "shared"] = "shared"


DEFAULT_ISOLATION = Isolation()


def chat_key(
    platform: str,
    kind: Literal["dm", "group", "channel"],
    chat: str,
    *,
    thread: str = "",
    user: str = "",
    isolation: Isolation = DEFAULT_ISOLATION,
) -> SessionKey:
    """The lane of a message: a person's own in a group, everybody's in a thread, unless set
    otherwise."""
    alone = isolation.threads if thread else isolation.groups
    own = user if kind != "dm" and alone == "person" else ""
    return session_key(platform, kind, chat, thread, own)


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace(":", "%3A")
