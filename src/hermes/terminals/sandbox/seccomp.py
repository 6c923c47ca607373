"""A filter of system calls, as the kernel reads it: no way into another box, few ways to talk.

Landlock does not yet judge sockets that are files, so a command boxed by it makes none; a pair of
connected ones, which many programs use among their own processes, it may have.
"""

import struct
from typing import Literal

from msgspec import Struct

ALLOW, REFUSE, ABSENT, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
LOAD, AND, EQUAL, AT_LEAST, ANY, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCH_AT, ARGUMENTS_AT = 0, 4, 16
OTHER_ABI = 0x40000000  # x32: the same machine under other numbers
NEW_NAMESPACES = 0x7E020000
UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
DATAGRAM_KINDS = (2, 3)  # a pair of these can still be sent anywhere
INPUT_FORGERS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
TYPE_BITS = 0xF

Machine = Literal["x86_64", "aarch64"]


class Numbers(Struct, frozen=True, kw_only=True):
    arch: int
    socket: int
    socketpair: int
    clone: int
    ioctl: int
    refused: tuple[int, ...]
    modes: tuple[int, ...]  # chmod, chown, setxattr, removexattr, old utime, in all their forms
    times: int  # utimensat


# The newer ones have one number everywhere: io_uring, open_tree to fspick, clone3 (said to be
# absent, so that clone is used, which can be judged), pidfd_getfd, mount_setattr, open_tree_attr.
NEWER = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442, 467)
CLONE3 = 435
TABLES: dict[Machine, Numbers] = {
    "x86_64": Numbers(
        arch=0xC000003E,
        socket=41,
        socketpair=53,
        clone=56,
        ioctl=16,
        # mount, umount2, swapon, swapoff, reboot, pivot_root, chroot, modules, kexec, unshare,
        # setns, keys, bpf, perf_event_open, userfaultfd, process_vm_*, *_by_handle_at, acct, clock
        refused=(
            *(165, 166, 167, 168, 169, 155, 161, 175, 176, 313, 246, 320, 272, 308, 248, 249, 250),
            *(321, 298, 323, 310, 311, 303, 304, 163, 164, 159, 227, 305, 172, 173, 103, 179, 153),
        ),
        modes=(
            90,
            91,
            268,
            92,
            93,
            94,
            260,
            188,
            189,
            190,
            197,
            198,
            199,
            132,
            235,
            261,
            452,
            463,
            466,
        ),
        times=280,
    ),
    "aarch64": Numbers(
        arch=0xC00000B7,
        socket=198,
        socketpair=199,
        clone=220,
        ioctl=29,
        refused=(
            *(40, 39, 224, 225, 142, 41, 51, 105, 106, 273, 104, 294, 97, 268, 217, 218, 219),
            *(280, 241, 282, 270, 271, 264, 265, 89, 170, 171, 112, 266, 116, 60, 58),
        ),
        modes=(52, 53, 54, 55, 5, 6, 7, 14, 15, 16, 452, 463, 466),
        times=88,
    ),
}


def seccomp_filter(machine: Machine, *, families: tuple[int, ...], modes: bool) -> bytes:
    """Everything is allowed but what is named here; sockets only of these families. `modes`:
    may the mode, owner or time of any file be changed? Only where those outside are frozen."""
    table = TABLES[machine]
    code: list[tuple[int, int, int, int]] = [
        (LOAD, 0, 0, ARCH_AT),
        (EQUAL, 1, 0, table.arch),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
        (AT_LEAST, 0, 1, OTHER_ABI),
        (RETURN, 0, 0, KILL),
        *_answer(CLONE3, ABSENT),
    ]
    for number in (*table.refused, *NEWER, *(() if modes else table.modes)):
        code += _answer(number, REFUSE)
    allowed = [(EQUAL, 0, 1, family) for family in families]
    code += _judged(table.socket, 0, [*_each(allowed, ALLOW), (RETURN, 0, 0, REFUSE)])
    kinds = [(EQUAL, 0, 1, kind) for kind in DATAGRAM_KINDS]
    pair = [(AND, 0, 0, TYPE_BITS), *_each(kinds, REFUSE), (RETURN, 0, 0, ALLOW)]
    code += _judged(table.socketpair, 1, pair)
    code += _judged(table.clone, 0, [(ANY, 0, 1, NEW_NAMESPACES), (RETURN, 0, 0, REFUSE)])
    forgers = [(EQUAL, 0, 1, request) for request in INPUT_FORGERS]
    code += _judged(table.ioctl, 1, _each(forgers, REFUSE))
    if not modes:  # the times of an open file may be set, not those of any file that has a name
        named = [(EQUAL, 1, 0, 0), (RETURN, 0, 0, REFUSE)]
        upper = (LOAD, 0, 0, ARGUMENTS_AT + 8 + 4)
        code += _judged(table.times, 1, [*named, upper, *named])
    code.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in code)


def _answer(number: int, answer: int) -> list[tuple[int, int, int, int]]:
    return [(EQUAL, 0, 1, number), (RETURN, 0, 0, answer)]


def _each(tests: list[tuple[int, int, int, int]], answer: int) -> list[tuple[int, int, int, int]]:
    return [line for test in tests for line in (test, (RETURN, 0, 0, answer))]


def _judged(
    number: int, argument: int, body: list[tuple[int, int, int, int]]
) -> list[tuple[int, int, int, int]]:
    """For one call look at one argument; afterwards the number is at hand again."""
    load = (LOAD, 0, 0, ARGUMENTS_AT + 8 * argument)
    whole = [load, *body, (LOAD, 0, 0, NUMBER_AT)]
    return [(EQUAL, 0, len(whole), number), *whole]
