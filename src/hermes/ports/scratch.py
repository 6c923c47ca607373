"""The scratch place of a conversation: what its commands and its file tools both know as `/tmp`.

On the disk it is a folder of our home; in a box it is mounted as `/tmp`, so the `/tmp` of the
machine, with the files of other programs, is never seen. Paths are absolute and normalised.
"""

import posixpath
from typing import Final

from hermes.core.grants import is_beneath

SCRATCH: Final = "/tmp"  # noqa: S108 - as a command in a box sees it
TEMPORARY: Final = (SCRATCH, "/var/tmp")  # noqa: S108 - two names of the same place
PLACE: Final = "tmp"  # the folder of a conversation that is shown; beside it is nothing so far
HOME: Final = "home"  # of a command, within its scratch place


def is_scratch(path: str) -> bool:
    """Return True for a path that a command in a box knows as its scratch place."""
    return any(is_beneath(path, name) for name in TEMPORARY)


def on_disk(path: str, scratch: str) -> str:
    """Return where this path of the scratch place is on the disk; any other path as it is."""
    for name in TEMPORARY if scratch else ():
        if is_beneath(path, name):
            return posixpath.normpath(scratch + path[len(name) :])
    return path


def as_seen(text: str, scratch: str) -> str:
    """Return a text with the names that the model knows."""
    return text.replace(scratch, SCRATCH) if scratch else text
