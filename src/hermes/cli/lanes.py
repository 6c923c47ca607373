"""What people call a session, and the lane that they mean by it."""

from urllib.parse import unquote

from hermes.cli.errors import Usage
from hermes.core.ids import MAIN_AGENT, SessionKey, session_key

NAME_CHARS_MAX = 200
_AGENT, _LOCAL = f"agent:{MAIN_AGENT}:", f"agent:{MAIN_AGENT}:local:dm:"


def lane(name: str) -> SessionKey:
    """A bare name is a lane of this terminal; `agent:…` is the key of any lane."""
    if not name.strip() or len(name) > NAME_CHARS_MAX or not name.isprintable():
        raise Usage(f"a session's name has 1 to {NAME_CHARS_MAX} printable characters")
    if not name.startswith("agent:"):
        return session_key("local", "dm", name)
    if len(name.split(":")) < 5 or not all(name.split(":")):
        raise Usage("a session's key is agent:main:PLATFORM:TYPE:CHAT. A bare name will do, too")
    return SessionKey(name)


def called(key: SessionKey) -> str:
    """The shortest name under which a person finds the lane again."""
    if key.startswith(_LOCAL) and ":" not in key.removeprefix(_LOCAL):
        return unquote(key.removeprefix(_LOCAL))
    return key.removeprefix(_AGENT)
