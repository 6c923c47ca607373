"""The seccomp filter of every box: no namespaces, few socket families, no setuid bits.

Landlock does not yet check Unix sockets with a path, and a mount cannot tell a workspace's own
socket from one of a program outside. So a sandboxed command cannot create a Unix socket with a
name; it may use a connected pair, as many programs do between their own processes.
"""

import struct
from typing import Literal

from msgspec import Struct

ALLOW, REFUSE, ABSENT, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
LOAD, AND, EQUAL, AT_LEAST, ANY, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCH_AT, ARGUMENTS_AT = 0, 4, 16
OTHER_ABI = 0x40000000  # x32: the same architecture with other call numbers
NEW_NAMESPACES = 0x7E020000
UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
PROTOCOLS = {NETLINK: (0,), INET: (0, 6, 17), INET6: (0, 6, 17)}  # routes; TCP and UDP
DATAGRAM_KINDS = (2, 3)  # a socket pair of these types could still send anywhere
INPUT_FORGERS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
TYPE_BITS = 0xF
SET_ID_BITS = 0o6000
CREATES = 0x40 | 0x400000  # O_CREAT, and what O_TMPFILE adds: only then is there a mode
CORE_LIMIT = 4
PERSONALITIES = (0, 8, 0x20000, 0x20008, 0x40000, 0xFFFFFFFF)  # usual, 32 bits, fixed addresses

Machine = Literal["x86_64", "aarch64"]
Instruction = tuple[int, int, int, int]


class SyscallNumbers(Struct, frozen=True, kw_only=True):
    """The system call numbers of one architecture. Pairs also name an argument."""

    arch: int
    socket: int
    socketpair: int
    clone: int
    ioctl: int
    personality: int
    core_limits: tuple[tuple[int, int], ...]  # setrlimit, prlimit64: argument with the resource
    opens: tuple[tuple[int, int], ...]  # open, openat: argument with the flags; the mode is next
    made_modes: tuple[tuple[int, int], ...]  # chmod, mknod and creat: argument with the mode
    refused: tuple[int, ...]
    modes: tuple[int, ...]  # chmod, chown, setxattr, removexattr, old utime, in all their forms
    times: int  # utimensat


# The newer calls have the same number everywhere: io_uring, open_tree to fspick, pidfd_getfd,
# mount_setattr, quotactl_fd, open_tree_attr.
NEWER = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442, 443, 467)
# clone3 and openat2 pass their flags behind a pointer, which a filter cannot read. If they fail
# with ENOSYS, programs fall back to clone and openat, which it can.
UNJUDGEABLE = (435, 437)
NEWER_CHMOD = (452, 2)
TABLES: dict[Machine, SyscallNumbers] = {
    "x86_64": SyscallNumbers(
        arch=0xC000003E,
        socket=41,
        socketpair=53,
        clone=56,
        ioctl=16,
        personality=135,
        core_limits=((160, 0), (302, 1)),
        opens=((2, 1), (257, 2)),
        made_modes=((90, 1), (91, 1), (268, 2), (133, 1), (259, 2), (85, 1)),
        # mount, umount2, swapon, swapoff, reboot, pivot_root, chroot, modules, kexec, unshare,
        # setns, keys, bpf, perf_event_open, userfaultfd, process_vm_*, *_by_handle_at, acct, clock,
        # fanotify_init, uselib, kcmp
        refused=(
            *(165, 166, 167, 168, 169, 155, 161, 175, 176, 313, 246, 320, 272, 308, 248, 249, 250),
            *(321, 298, 323, 310, 311, 303, 304, 163, 164, 159, 227, 305, 172, 173, 103, 179, 153),
            *(300, 134, 312),
        ),
        modes=(
            *(90, 91, 268, 92, 93, 94, 260, 188, 189, 190, 197, 198, 199, 132, 235, 261),
            *(452, 463, 466),
        ),
        times=280,
    ),
    "aarch64": SyscallNumbers(
        arch=0xC00000B7,
        socket=198,
        socketpair=199,
        clone=220,
        ioctl=29,
        personality=92,
        core_limits=((164, 0), (261, 1)),
        opens=((56, 2),),
        made_modes=((52, 1), (53, 2), (33, 2)),
        refused=(
            *(40, 39, 224, 225, 142, 41, 51, 105, 106, 273, 104, 294, 97, 268, 217, 218, 219),
            *(280, 241, 282, 270, 271, 264, 265, 89, 170, 171, 112, 266, 116, 60, 58),
            *(262, 272),
        ),
        modes=(52, 53, 54, 55, 5, 6, 7, 14, 15, 16, 452, 463, 466),
        times=88,
    ),
}


def seccomp_filter(machine: Machine, *, families: tuple[int, ...], modes: bool) -> bytes:
    """Return the BPF program: everything is allowed except what is listed here.

    Sockets are limited to these families. `modes`: whether the mode, owner or time of a file may be
    changed, which is safe only if files outside of the workspace are read-only mounts. The setuid
    and setgid bits are always refused.
    """
    table = TABLES[machine]
    code: list[Instruction] = [
        (LOAD, 0, 0, ARCH_AT),
        (EQUAL, 1, 0, table.arch),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
        (AT_LEAST, 0, 1, OTHER_ABI),
        (RETURN, 0, 0, KILL),
    ]
    for number in UNJUDGEABLE:
        code += _answer(number, ABSENT)
    for number in (*table.refused, *NEWER, *(() if modes else table.modes)):
        code += _answer(number, REFUSE)
    code += _sockets(table, families)
    code += _judged(table.clone, 0, [(ANY, 0, 1, NEW_NAMESPACES), (RETURN, 0, 0, REFUSE)])
    forgers = [(EQUAL, 0, 1, request) for request in INPUT_FORGERS]
    code += _judged(table.ioctl, 1, _each(forgers, REFUSE))
    usual = [(EQUAL, 0, 1, which) for which in PERSONALITIES]
    code += _judged(table.personality, 0, [*_each(usual, ALLOW), (RETURN, 0, 0, REFUSE)])
    code += _core_limits(table)
    code += _set_id_bits(table)
    if not modes:  # the times of an open file may be set, not those of any named file
        named: list[Instruction] = [(EQUAL, 1, 0, 0), (RETURN, 0, 0, REFUSE)]
        code += _judged(table.times, 1, [*named, (LOAD, 0, 0, _argument(1) + 4), *named])
    code.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in code)


def _sockets(table: SyscallNumbers, families: tuple[int, ...]) -> list[Instruction]:
    """Refuse every other family, and within these every protocol that is not listed: a rare one
    makes the kernel load a module."""
    body: list[Instruction] = []
    for family in families:
        protocols = [(EQUAL, 0, 1, protocol) for protocol in PROTOCOLS[family]]
        inner = [(LOAD, 0, 0, _argument(2)), *_each(protocols, ALLOW), (RETURN, 0, 0, REFUSE)]
        body += [(EQUAL, 0, len(inner), family), *inner]
    code = _judged(table.socket, 0, [*body, (RETURN, 0, 0, REFUSE)])
    kinds = [(EQUAL, 0, 1, kind) for kind in DATAGRAM_KINDS]
    pair = [(AND, 0, 0, TYPE_BITS), *_each(kinds, REFUSE), (RETURN, 0, 0, ALLOW)]
    return code + _judged(table.socketpair, 1, pair)


def _core_limits(table: SyscallNumbers) -> list[Instruction]:
    """Refuse to raise the limit that disables core dump programs. Reading it is allowed: then
    prlimit64 gets no new value."""
    (plain, resource), (newer, of_newer) = table.core_limits
    code = _judged(plain, resource, [(EQUAL, 0, 1, CORE_LIMIT), (RETURN, 0, 0, REFUSE)])
    new_value = _argument(of_newer + 1)
    given: list[Instruction] = [
        (LOAD, 0, 0, new_value),
        (EQUAL, 1, 0, 0),
        (RETURN, 0, 0, REFUSE),
        (LOAD, 0, 0, new_value + 4),
        (EQUAL, 1, 0, 0),
        (RETURN, 0, 0, REFUSE),
    ]
    return code + _judged(newer, of_newer, [(EQUAL, 0, len(given), CORE_LIMIT), *given])


def _set_id_bits(table: SyscallNumbers) -> list[Instruction]:
    refusal: list[Instruction] = [(ANY, 0, 1, SET_ID_BITS), (RETURN, 0, 0, REFUSE)]
    code: list[Instruction] = []
    for number, mode in (*table.made_modes, NEWER_CHMOD):
        code += _judged(number, mode, refusal)
    for number, flags in table.opens:
        inner = [(LOAD, 0, 0, _argument(flags + 1)), *refusal]
        code += _judged(number, flags, [(ANY, 0, len(inner), CREATES), *inner])
    return code


def _argument(index: int) -> int:
    """Return the offset of the lower half of an argument; the upper half is 4 bytes later."""
    return ARGUMENTS_AT + 8 * index


def _answer(number: int, answer: int) -> list[Instruction]:
    return [(EQUAL, 0, 1, number), (RETURN, 0, 0, answer)]


def _each(tests: list[Instruction], answer: int) -> list[Instruction]:
    return [line for test in tests for line in (test, (RETURN, 0, 0, answer))]


def _judged(number: int, argument: int, body: list[Instruction]) -> list[Instruction]:
    """Check one argument of one call; afterwards the call number is loaded again."""
    whole = [(LOAD, 0, 0, _argument(argument)), *body, (LOAD, 0, 0, NUMBER_AT)]
    return [(EQUAL, 0, len(whole), number), *whole]
