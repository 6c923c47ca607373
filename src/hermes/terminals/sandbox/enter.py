"""The program that enters a sandbox and then executes the command.

Its arguments are steps, done in order, then `--` and the command; landlock.py writes them and
explains why. If a step fails, nothing runs. The wrapper of a command, which has this module loaded,
forks and does the steps itself instead of starting another Python.

Use only the standard library, and import nothing after the first step: Python's files may be hidden
by then.
"""

import contextlib
import fcntl
import os
import resource
import signal
import socket
import stat
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from hermes.terminals.sandbox import kernel, mounts
from hermes.terminals.sandbox.idmap import prepare_idmap
from hermes.terminals.sandbox.links import serve_links

FAILED = 125
COMMAND = "--"  # the command follows
POLITE = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
LOOPBACK_UP = struct.pack("16sh22x", b"lo", 0x41)
SET_FLAGS = 0x8914

Steps = dict[str, tuple[int, Callable[..., None]]]  # how many words each takes, and what it does


def main() -> None:
    hear()
    words = sys.argv[1:]
    prepare(words)
    if outside(words):
        _wait_for(os.fork())
    become(words, os.environ)


def hear() -> None:
    """Install handlers for signals that would end us and for those that Python ignores. An executed
    program inherits none of them, so it starts with the defaults."""
    for number in (*POLITE, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, _heard)


def _heard(_number: int, _frame: object) -> None:
    """Do nothing: the signal only interrupts a waiting system call."""


def outside(words: list[str]) -> bool:
    """Do the steps before `init` in the process that waits outside, and remove them from `words`.
    Return True if there is such a process. After an error return False, and the inner process
    reports it."""
    if "init" not in words[: words.index(COMMAND)]:
        return False
    left, steps = list(words), _steps()
    try:
        while left[0] != "init":
            _step(steps, left)
    except (OSError, LookupError, TypeError, ValueError):
        return False
    words[:] = left
    return True


def prepare(words: Sequence[str]) -> None:
    """Prepare what every command needs in the same way, before the first step."""
    if any(word.startswith(mounts.OWN) for word in words):
        prepare_idmap()


def become(words: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Do the steps, then execute the command."""
    left, steps, step = list(words), _steps(), ""
    try:
        while (step := left[0]) != COMMAND:
            _step(steps, left)
        step = f"exec {left[1]}"
        os.execvpe(left[1], left[1:], environment)  # noqa: S606 - who asked has judged it
    except OSError as refused:
        _leave(f"{step} {refused.filename or ''}", refused.strerror or str(refused))
    except (LookupError, TypeError, ValueError):
        _leave(step, "not understood")


def _leave(place: str, why: str) -> NoReturn:
    text = f"The sandbox could not be built ({place.strip()}: {why}). Nothing was run.\n"
    os.write(2, text.encode("utf-8", "replace"))
    os._exit(FAILED)


def _step(steps: Steps, left: list[str]) -> None:
    """Do the first step, and remove it and its words from the list."""
    count, act = steps[left.pop(0)]
    act(*left[:count])
    del left[:count]


def _steps() -> Steps:
    trees, rules, bridge = mounts.Trees(), LandlockRules(), Bridge()
    return {
        "unshare": (1, lambda flags: kernel.unshare(int(flags))),
        "map": (2, _map),
        "init": (0, kernel.die_with_parent),
        "private": (0, lambda: kernel.mount("none", "/", "", kernel.REC | kernel.PRIVATE)),
        "take": (2, trees.take),
        "root": (1, mounts.begin_root),
        "leave": (0, mounts.leave_old_root),
        "still": (1, kernel.freeze),
        "tmpfs": (2, mounts.mount_tmpfs),
        "devices": (2, mounts.mount_devices),
        "terminals": (1, mounts.mount_terminals),
        "folder": (1, mounts.make_folder),
        "give": (3, mounts.give),
        "replace": (2, mounts.replace_file),
        "link": (2, mounts.make_link),
        "put": (2, trees.put),
        "pin": (1, mounts.pin),
        "lock": (1, mounts.lock),
        "hide": (1, mounts.hide),
        "mask": (1, mounts.mask),
        "proc": (0, mounts.mount_proc),
        "lo": (0, _loopback),
        "door": (1, bridge.door),
        "bridge": (2, bridge.open),
        "enter": (1, os.chdir),
        "rules": (0, rules.begin),
        "allow": (2, rules.allow),
        "split": (0, _split),
        "bare": (0, kernel.drop_capabilities),
        "bare-as": (2, _bare_as),
        "as": (2, _become_user),
        "uncored": (0, _forbid_cores),
        "file": (2, _open_file),
        "seal": (0, rules.seal),
        "scope": (0, rules.scope),
        "filter": (1, lambda words: kernel.filter_calls(bytes.fromhex(words))),
    }


# ── processes ───────────────────────────────────────────────────────────────────────────────────


def _map(user: str, group: str) -> None:
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        Path(f"/proc/self/{name}").write_text(text, "ascii")


def _bare_as(user: str, group: str) -> None:
    _give_streams(int(user), int(group))
    kernel.drop_capabilities(int(user), int(group))


def _become_user(user: str, group: str) -> None:
    _give_streams(int(user), int(group))
    kernel.switch_user(int(user), int(group))


def _give_streams(user: int, group: int) -> None:
    """Give pipes and sockets to the new user: a command may open its own as /dev/stdout."""
    for stream in range(3):
        mode = os.fstat(stream).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            with contextlib.suppress(PermissionError):
                os.fchown(stream, user, group)


def _forbid_cores() -> None:
    """Disable core dumps. At a limit of 0 a crash would still run the program in core_pattern; at 1
    it does not. If the hard limit is 0 already, it stays 0."""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    except (ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _open_file(number: str, content: str) -> None:
    """Create an in-memory file that the next program finds open at this descriptor."""
    made = os.memfd_create("hermes", os.MFD_CLOEXEC)
    os.write(made, bytes.fromhex(content))
    os.lseek(made, 0, os.SEEK_SET)
    os.dup2(made, int(number))


def _split() -> None:
    """Fork the command from the first process of the pid namespace, which then drops its rights
    and waits. SIGTERM and the like end the command only. The first process exits with it, and the
    kernel then kills everything left inside."""
    if child := os.fork():
        kernel.drop_capabilities()
    _wait_for(child)


def _wait_for(child: int) -> None:
    """Return in the child; in the parent, exit as the child does."""
    if child == 0:
        return
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


# ── files ───────────────────────────────────────────────────────────────────────────────────────


class LandlockRules:
    """The Landlock rules: what the command may reach."""

    def __init__(self) -> None:
        self._ruleset = -1

    def begin(self) -> None:
        self._ruleset = kernel.new_ruleset()

    def allow(self, rights: str, path: str) -> None:
        try:
            kernel.allow_beneath(self._ruleset, int(rights), path)
        except FileNotFoundError:  # removed since the layout was computed
            return

    def seal(self) -> None:
        kernel.restrict(self._ruleset)

    def scope(self) -> None:
        """Confine signals and abstract sockets; bubblewrap can still mount files afterwards."""
        kernel.restrict(kernel.new_ruleset(rights=0))


# ── the network ─────────────────────────────────────────────────────────────────────────────────


def _loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_one:
        fcntl.ioctl(any_one, SET_FLAGS, LOOPBACK_UP)


class Bridge:
    """A port inside this box that leads to the proxy, open before the command starts."""

    def __init__(self) -> None:
        self._door = -1

    def door(self, path: str) -> None:
        """Open the folder with the proxy's socket while it is still visible."""
        self._door = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def open(self, port: str, sealed: str) -> None:
        ear = socket.create_server(("127.0.0.1", int(port)), backlog=64)
        served = os.getpid()
        if between := os.fork():
            os.waitpid(between, 0)
            ear.close()
            os.close(self._door)
            return
        try:
            if os.fork() == 0:
                self._serve(ear, os.pidfd_open(served), sealed)
        finally:
            os._exit(0)

    def _serve(self, ear: socket.socket, served: int, sealed: str) -> None:
        nothing = os.open("/dev/null", os.O_RDWR)
        for standard in range(3):
            os.dup2(nothing, standard)
        os.fchdir(self._door)
        kernel.drop_capabilities()
        if sealed == "sealed":
            rules = LandlockRules()
            rules.begin()
            rules.seal()
        serve_links(ear, served)
