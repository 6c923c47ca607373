"""Single-use invite codes: 128 random bits, of which only a digest is stored."""

import hashlib
from collections.abc import Callable

from hermes.core.people import Role
from hermes.core.trust import Invite
from hermes.lazy import LazyPattern

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
CHARS = 26
CODE = LazyPattern(f"(?<![0-9a-z])[{ALPHABET}]{{{CHARS}}}(?![0-9a-z])")
INVITE_S = 600.0
TERMINAL = "the terminal"


def invited(
    role: Role, at: float, open_s: float, *, by: str, chance: Callable[[int], bytes]
) -> tuple[str, Invite]:
    """Return a new code, and the invite to store."""
    number = int.from_bytes(chance(17), "big")
    code = "".join(ALPHABET[number >> 5 * n & 31] for n in range(CHARS))
    digest = code_digest(code)
    return code, Invite(digest=digest, role=role, made_at=at, expires_at=at + open_s, by=by)


def code_in(text: str) -> str:
    """Return the code in a message, whatever text is around it; "" if there is none."""
    found = CODE.search(text.lower())
    return found[0] if found is not None else ""


def code_digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
