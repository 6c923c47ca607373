"""Convert between a session's name and its key."""

from urllib.parse import unquote

from hermes.cli.errors import UsageError
from hermes.core.ids import MAIN_AGENT, SessionKey, session_key

NAME_CHARS_MAX = 200
_AGENT, LOCAL = f"agent:{MAIN_AGENT}:", f"agent:{MAIN_AGENT}:local:dm:"


def parse_session_key(name: str) -> SessionKey:
    """Return the key for a name: a bare name is a session of this terminal, `agent:…` is any
    key."""
    if not name.strip() or len(name) > NAME_CHARS_MAX or not name.isprintable():
        raise UsageError(f"a session's name has 1 to {NAME_CHARS_MAX} printable characters")
    if not name.startswith("agent:"):
        return session_key("local", "dm", name)
    if len(name.split(":")) < 5 or not all(name.split(":")):
        raise UsageError(
            "a session's key is agent:main:PLATFORM:TYPE:CHAT. A bare name will do, too"
        )
    return SessionKey(name)


def session_name(key: SessionKey) -> str:
    """Return the shortest name by which a person finds the session again."""
    if key.startswith(LOCAL) and ":" not in key.removeprefix(LOCAL):
        return unquote(key.removeprefix(LOCAL))
    return key.removeprefix(_AGENT)
