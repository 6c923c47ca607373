"""The key that seals the audit log: a file of the home that no tool can read.

To share one database, several homes need the same key.
"""

import os
from pathlib import Path

from hermes.core.errors import StoreFailed
from hermes.views.files import is_full, unwritable

KEY_BYTES = 32
FILE = "audit.key"
OPEN_KEY = bytes(KEY_BYTES)  # for tests: a publicly known key


def audit_key(home: Path, given: str = "") -> bytes:
    """Return the key: `given` in hex, or that of the home, which is made if it is missing."""
    if given:
        return _from_hex(given)
    path = home / FILE
    try:
        _make(path)
        key = path.read_bytes()
    except OSError as error:
        if is_full(error):
            raise unwritable(path, error) from error
        raise StoreFailed(f"{path}: {error.strerror}. Make it readable for Hermes.") from error
    if len(key) != KEY_BYTES:
        raise StoreFailed(
            f"{path}: not a key of {KEY_BYTES} bytes. Restore it from a backup; without it nothing "
            "that was recorded so far can be verified."
        )
    return key


def _make(path: Path) -> None:
    """Create the key file atomically and never overwrite one: two processes may start together."""
    if path.exists():
        return
    half = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        file = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            os.write(file, os.urandom(KEY_BYTES))
            os.fsync(file)
        finally:
            os.close(file)
        try:
            os.link(half, path)
        except FileExistsError:
            return
    finally:
        half.unlink(missing_ok=True)


def _from_hex(given: str) -> bytes:
    try:
        key = bytes.fromhex(given.strip())
    except ValueError:
        key = b""
    if len(key) < KEY_BYTES:
        raise StoreFailed(
            f"HERMES_AUDIT_KEY: at least {2 * KEY_BYTES} hexadecimal digits are needed. "
            "Make one with `openssl rand -hex 32`."
        )
    return key
