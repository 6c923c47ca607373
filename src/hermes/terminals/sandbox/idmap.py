"""As root: run the box as another user, and show root's files as that user's.

An idmapped mount swaps the two owners. The box works with the workspace as its owner, new files
belong to root on the disk, and yet its processes belong to a user of their own. Use only the
standard library: every process that enters a box loads this module.
"""

import errno
import fcntl
import os
import signal
from contextlib import suppress
from pathlib import Path

from hermes.terminals.sandbox import kernel

BOX_USER = 2_000_000_000  # an id outside of people, services and the usual ranges for containers
IDS_MAX = 2**32 - 1
NEW_USERS = 0x10000000
KEPT_ABOVE = 64  # a command's descriptors are closed up to here

_opened: list[int] = []


def prepare_idmap() -> None:
    """Create the mapping, if possible, before any other namespace: /proc must still know our ids.
    It is the same for every command."""
    if not _opened:
        with suppress(OSError):
            _opened.append(_made())


def prepared_idmap() -> int:
    """Return a user namespace that swaps root and the user of the box."""
    if not _opened:
        raise PermissionError(errno.EPERM, "owners of files cannot be mapped", "idmap")
    return _opened[0]


def swapped_ids() -> str:
    """Return the id map: inside, outside, count."""
    rest = IDS_MAX - BOX_USER - 1
    lines = (
        (0, BOX_USER, 1),
        (1, 1, BOX_USER - 1),
        (BOX_USER, 0, 1),
        (BOX_USER + 1, BOX_USER + 1, rest),
    )
    return "".join(f"{inside} {outside} {count}\n" for inside, outside, count in lines)


def _made() -> int:
    """Create the user namespace with a short-lived process that ends once the map is written."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _be_mapped(writer)
    os.close(writer)
    try:
        if not os.read(reader, 1):
            raise PermissionError(errno.EPERM, "no user namespace can be made", "idmap")
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{child}/{name}").write_text(swapped_ids(), "ascii")
        found = os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    high = fcntl.fcntl(found, fcntl.F_DUPFD_CLOEXEC, KEPT_ABOVE)
    os.close(found)
    return high


def _be_mapped(writer: int) -> None:
    try:
        kernel.die_with_parent()
        kernel.unshare(NEW_USERS)
        os.write(writer, b".")
        while True:
            signal.pause()
    finally:
        os._exit(1)
