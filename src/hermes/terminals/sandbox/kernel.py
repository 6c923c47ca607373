"""System calls that Python has no function for; each raises OSError like those of os.

Use only the standard library: every process that enters a box loads this module.
"""

import ctypes
import os
import signal
import struct

CWD, RECURSIVE, CLONE_TREE, EMPTY_SOURCE = -100, 0x8000, 1, 4
ITSELF = 0x1000  # the open file itself, not a path below it
NOSUID, NODEV, NOEXEC, READ_ONLY, BIND, REC, PRIVATE = 2, 4, 8, 1, 4096, 16384, 1 << 18
IDMAP = 0x100000
DETACH = 2
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442  # the same number on every architecture
CLONE3, INTO_GROUP = 435, 1 << 33
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
DEATH_SIGNAL, SET_FILTER, DROP_BOUND, SECURE_BITS, NO_NEW_RIGHTS = 1, 22, 24, 28, 38
CAPABILITIES_MAX = 64
NO_ROOT = 0x2F  # SECBIT_*: root gets no special rights, locked
CAPABILITY_VERSION = 0x20080522
EVERY_RIGHT, EVERY_SCOPE, BENEATH = (1 << 16) - 1, 3, 1

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


_held = ctypes.PyDLL(None, use_errno=True)  # calls through it keep the GIL
_held.syscall.restype = ctypes.c_long


class Filter(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("program", ctypes.c_char_p))


def unshare(flags: int) -> None:
    _done(_libc.unshare(flags))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    names = [os.fsencode(word) for word in (source, target, kind)]
    _done(_libc.mount(*names, ctypes.c_ulong(flags), options.encode("ascii")), target)


def freeze(path: str, flags: int = 0, attributes: int = READ_ONLY) -> None:
    """Make everything below the path read-only."""
    change = struct.pack("4Q", attributes, 0, 0, 0)
    _call(MOUNT_SETATTR, CWD, os.fsencode(path), flags, change, len(change), path=path)


def taken_tree(path: str) -> int:
    """Return a descriptor for a detached copy of the mount tree at this path."""
    flags = CLONE_TREE | RECURSIVE | os.O_CLOEXEC
    return _call(OPEN_TREE, CWD, os.fsencode(path), flags, path=path)


def set_attributes(tree: int, attributes: int, *, deep: bool = True, users: int = -1) -> None:
    """Add mount attributes to a detached tree. `users` is a user namespace that maps the owners of
    its files."""
    idmap = IDMAP if users >= 0 else 0
    change = struct.pack("4Q", attributes | idmap, 0, 0, max(users, 0))
    flags = ITSELF | (RECURSIVE if deep else 0)
    _call(MOUNT_SETATTR, tree, b"", flags, change, len(change))


def pivot_root(new: str, old: str) -> None:
    _done(_libc.pivot_root(os.fsencode(new), os.fsencode(old)), new)


def detach(path: str) -> None:
    _done(_libc.umount2(os.fsencode(path), DETACH), path)


def put_tree(tree: int, path: str) -> None:
    _call(MOVE_MOUNT, tree, b"", CWD, os.fsencode(path), EMPTY_SOURCE, path=path)


def new_ruleset(rights: int = EVERY_RIGHT) -> int:
    """Create a Landlock ruleset: what it handles is denied unless a rule allows it. Without file
    rights it leaves mounts alone and confines signals and abstract sockets."""
    handled = struct.pack("3Q", rights, 0, EVERY_SCOPE)
    return _call(CREATE_RULESET, handled, len(handled), 0)


def allow_beneath(ruleset: int, rights: int, path: str) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    _call(ADD_RULE, ruleset, BENEATH, struct.pack("=Qi", rights, place), 0, path=path)
    os.close(place)


def drop_capabilities(user: int = -1, group: int = -1) -> None:
    """Drop all capabilities, now, after exec, and for root. Switch to another user in between, if
    one is named: that needs a capability, and the steps before it need another one."""
    for one in range(CAPABILITIES_MAX):
        if _libc.prctl(DROP_BOUND, one, 0, 0, 0) < 0:
            break
    _libc.prctl(SECURE_BITS, NO_ROOT, 0, 0, 0)  # needs a right that we may lack
    if user >= 0:
        switch_user(user, group)
    myself, nothing = struct.pack("Ii", CAPABILITY_VERSION, 0), struct.pack("6I", *[0] * 6)
    _done(_libc.capset(myself, nothing))


def switch_user(user: int, group: int) -> None:
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)


def restrict(ruleset: int) -> None:
    _done(_libc.prctl(NO_NEW_RIGHTS, 1, 0, 0, 0))
    _call(RESTRICT_SELF, ruleset, 0)


def filter_calls(program: bytes) -> None:
    whole = Filter(len(program) // 8, program)
    _done(_libc.prctl(SET_FILTER, 2, ctypes.byref(whole), 0, 0))


def fork_into(group: str) -> int:
    """Fork like os.fork, with the child starting in this cgroup. Moving it later would wait for
    every processor. Call it only in a process with one thread."""
    folder = os.open(group, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        wanted = struct.pack("11Q", INTO_GROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, folder)
        _held.PyOS_BeforeFork()
        child = int(_held.syscall(ctypes.c_long(CLONE3), wanted, ctypes.c_size_t(len(wanted))))
        number = ctypes.get_errno()
        if child == 0:
            _held.PyOS_AfterFork_Child()
        else:
            _held.PyOS_AfterFork_Parent()
    finally:
        os.close(folder)
    if child < 0:
        raise OSError(number, os.strerror(number), group)
    return child


def die_with_parent() -> None:
    _done(_libc.prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0))


def _call(number: int, *arguments: int | bytes, path: str = "") -> int:
    long = (ctypes.c_long(each) if isinstance(each, int) else each for each in arguments)
    return _done(_libc.syscall(ctypes.c_long(number), *long), path)


def _done(result: int, path: str = "") -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return result
