"""Session keys as people read and write them."""

from hermes.core.ids import MAIN_AGENT, SessionKey

_PREFIX = f"agent:{MAIN_AGENT}:"


def short_key(key: str) -> str:
    """Return a session key without what all of them begin with."""
    return key.removeprefix(_PREFIX)


def full_key(short: str) -> SessionKey:
    """Return the session key that `short_key` shortened."""
    return SessionKey(_PREFIX + short)
