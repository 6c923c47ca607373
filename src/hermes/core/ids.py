"""Names for the things we point at. Every id is its own type, so a swapped pair is a type error."""

from typing import Literal, NewType

from msgspec import Struct

from hermes.core.errors import Rejected

SessionKey = NewType("SessionKey", str)  # where it happens: agent:main:{platform}:{type}:{chat}
SessionId = NewType("SessionId", str)  # which conversation is current there
MessageId = NewType("MessageId", str)  # one inbound message, unique within its account
TurnId = NewType("TurnId", str)
CallId = NewType("CallId", str)  # {turn}-{ordinal}: unique everywhere, safe as a file name
ReplyId = NewType("ReplyId", str)  # {turn or message}/{ordinal}
NodeId = NewType("NodeId", str)  # one running process

MAIN_AGENT = "main"


class SessionName(Struct, frozen=True):
    """A session key, parsed. `rest` are a thread, a person, or both."""

    platform: str
    kind: str
    chat: str
    rest: tuple[str, ...] = ()
    agent: str = MAIN_AGENT

    def __str__(self) -> str:
        parts = (self.agent, self.platform, self.kind, self.chat, *self.rest)
        return ":".join(["agent", *map(_escaped, parts)])

    @property
    def whole_chat(self) -> SessionKey:
        """The key of the chat; the keys of its other sessions begin with it and a colon."""
        return SessionKey(str(SessionName(self.platform, self.kind, self.chat, (), self.agent)))


def name_of(key: str) -> SessionName | None:
    """Return the parts of a session key; None for a text that is none."""
    tag, *parts = key.split(":")
    if tag != "agent" or len(parts) < 4 or not all(parts):
        return None
    agent, platform, kind, chat, *rest = map(_unescaped, parts)
    name = SessionName(platform, kind, chat, tuple(rest), agent)
    return name if str(name) == key else None


def parse_key(key: str) -> SessionName:
    """Return the parts of a session key. Raise Rejected for a text that is none."""
    if (name := name_of(key)) is None:
        raise Rejected(f"“{key}” is not a session key. Write agent:main:PLATFORM:TYPE:CHAT")
    return name


def platform_of(key: str) -> str:
    """Return the platform of a session; "" for a key of another shape."""
    return name.platform if (name := name_of(key)) is not None else ""


def session_key(platform: str, kind: str, chat: str, *rest: str) -> SessionKey:
    """Return the session key of a chat. `:` and `%` are escaped, so parts from outside cannot forge
    another key."""
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
    """Return the session key of a message: a person's own in a group, a shared one in a thread,
    unless set otherwise."""
    alone = isolation.threads if thread else isolation.groups
    own = user if kind != "dm" and alone == "person" else ""
    return session_key(platform, kind, chat, thread, own)


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace(":", "%3A")


def _unescaped(part: str) -> str:
    return part.replace("%3A", ":").replace("%25", "%")
