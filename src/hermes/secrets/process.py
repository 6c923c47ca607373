"""Protect the memory of a process that holds secrets: no core dumps, no ptrace."""

import ctypes
import resource
import sys

PR_SET_DUMPABLE = 4
RLIMITS = 1 << 64  # -1 means unlimited


def no_dumps() -> None:
    """Disable core dumps for this process and its children. On Linux, also stop other processes of
    this user from reading its memory and environment. Call it when a program starts, because exec
    resets the second part. The hard limit becomes one byte instead of 0 (unless it is 0 already):
    at 0 the kernel would still run the program in core_pattern."""
    hard = min(1, resource.getrlimit(resource.RLIMIT_CORE)[1] % RLIMITS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
