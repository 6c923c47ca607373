"""A process that knows secrets leaves none behind when it dies, and shows its memory to nobody."""

import ctypes
import resource
import sys

PR_SET_DUMPABLE = 4


def no_dumps() -> None:
    """No core dump, of us or of what we start; on Linux, no other process of this user may read
    our memory or our environment either. To be called at the start of a program: exec undoes the
    second."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
