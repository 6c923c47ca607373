"""The key that seals the audit log: a file of the home that no tool can read.

Nodes of several homes on one database share a key by giving all of them the same one.
"""

import os
from pathlib import Path

from hermes.core.errors import StoreFailed

KEY_BYTES = 32
FILE = "audit.key"
OPEN_KEY = bytes(KEY_BYTES)  # for tests: anybody can seal with it


def audit_key(home: Path, given: str = "") -> bytes:
    """The key that is `given` in hex, or that of the home, which is made when there is none."""
    if given:
        return _from_hex(given)
    path = home / FILE
    try:
        _make(path)
        key = path.read_bytes()
    except OSError as error:
        raise StoreFailed(f"{path}: {error.strerror}. Make it readable for Hermes.") from error
    if len(key) != KEY_BYTES:
        raise StoreFailed(
            f"{path}: not a key of {KEY_BYTES} bytes. Restore it from a backup; without it nothing "
            "that was recorded so far can be verified."
        )
    return key


def _make(path: Path) -> None:
    """Whole or not at all, and never over another: two processes may start together."""
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
