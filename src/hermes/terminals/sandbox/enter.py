"""The program that enters a box and becomes the command.

Its arguments are steps, done in order, then `--` and the command; landlock.py writes them and says
why. A step that fails ends everything: nothing runs. The wrapper of a command, which has this
module in memory, does the steps in a process of its own making instead of starting Python anew.

Only the standard library, and no import once the first step is done: by then the files of Python
may be out of sight.
"""

import fcntl
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from hermes.terminals.sandbox import kernel
from hermes.terminals.sandbox.links import serve_links

FAILED = 125
COMMAND = "--"  # what comes behind it is the command
POLITE = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
LOOPBACK_UP = struct.pack("16sh22x", b"lo", 0x41)
SET_FLAGS = 0x8914

Steps = dict[str, tuple[int, Callable[..., None]]]  # how many words each takes, and what it does


def main() -> None:
    hear()
    words = sys.argv[1:]
    if outside(words):
        _wait_for(os.fork())
    become(words, os.environ)


def hear() -> None:
    """Signals that would end us wake us instead, and those that Python ignores are heard too: a
    program that is executed has none of this, and begins as every program expects."""
    for number in (*POLITE, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, _heard)


def _heard(_number: int, _frame: object) -> None:
    """Whoever waits looks up; there is no more to it."""


def outside(words: list[str]) -> bool:
    """Do the steps that come before `init`, and take them away: they belong to the process that
    waits outside. Is there one? What fails is left to the one inside, who can say so."""
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


def become(words: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Do the steps and become the command."""
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
    """Do the first of these, and take it away with its words."""
    count, act = steps[left.pop(0)]
    act(*left[:count])
    del left[:count]


def _steps() -> Steps:
    trees, rules, bridge = Trees(), Rules(), Bridge()
    return {
        "unshare": (1, lambda flags: kernel.unshare(int(flags))),
        "map": (2, _map),
        "init": (0, kernel.die_with_parent),
        "private": (0, lambda: kernel.mount("none", "/", "", kernel.REC | kernel.PRIVATE)),
        "take": (1, trees.take),
        "freeze": (1, lambda path: kernel.freeze(path, kernel.RECURSIVE)),
        "still": (1, kernel.freeze),
        "tmpfs": (2, _tmpfs),
        "folder": (1, _folder),
        "put": (2, trees.put),
        "pin": (1, _pin),
        "lock": (1, _lock),
        "hide": (1, _hide),
        "proc": (0, _proc),
        "lo": (0, _loopback),
        "door": (1, bridge.door),
        "bridge": (2, bridge.open),
        "enter": (1, os.chdir),
        "rules": (0, rules.begin),
        "allow": (2, rules.allow),
        "split": (0, _split),
        "bare": (0, kernel.drop_capabilities),
        "seal": (0, rules.seal),
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


def _split() -> None:
    """The first process of a pid namespace, which `init` began, waits for the command and dies with
    it, and the kernel ends whatever is left inside. The polite signals pass to the command."""
    _wait_for(os.fork())


def _wait_for(child: int) -> None:
    """The child goes on; we end as it does."""
    if child == 0:
        return
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


# ── files ───────────────────────────────────────────────────────────────────────────────────────


class Trees:
    """Places that are taken before something stands in front of them, and put back behind it."""

    def __init__(self) -> None:
        self._taken: list[int] = []

    def take(self, path: str) -> None:
        self._taken.append(kernel.taken_tree(path))

    def put(self, kind: str, path: str) -> None:
        if kind == "folder":
            _folder(path)
        elif not Path(path).exists():
            _folder(str(Path(path).parent))
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        tree = self._taken.pop(0)
        kernel.put_tree(tree, path)
        os.close(tree)


class Rules:
    """What Landlock lets the command reach."""

    def __init__(self) -> None:
        self._ruleset = -1

    def begin(self) -> None:
        self._ruleset = kernel.new_ruleset()

    def allow(self, rights: str, path: str) -> None:
        try:
            kernel.allow_beneath(self._ruleset, int(rights), path)
        except FileNotFoundError:  # gone since it was looked at
            return

    def seal(self) -> None:
        kernel.restrict(self._ruleset)


def _tmpfs(path: str, options: str) -> None:
    kernel.mount("tmpfs", path, "tmpfs", kernel.NOSUID | kernel.NODEV, options)


def _folder(path: str) -> None:
    Path(path).mkdir(0o700, parents=True, exist_ok=True)


def _pin(path: str) -> None:
    kernel.mount(path, path, "", kernel.BIND | kernel.REC)


def _lock(path: str) -> None:
    _pin(path)
    kernel.freeze(path, kernel.RECURSIVE)


def _hide(path: str) -> None:
    if Path(path).is_dir():
        flags = kernel.READ_ONLY | kernel.NOSUID | kernel.NODEV
        kernel.mount("tmpfs", path, "tmpfs", flags, "mode=0555,size=4k")
    else:
        kernel.mount("/dev/null", path, "", kernel.BIND)


def _proc() -> None:
    flags = kernel.NOSUID | kernel.NODEV | kernel.NOEXEC | kernel.READ_ONLY
    kernel.mount("proc", "/proc", "proc", flags)


# ── the network ─────────────────────────────────────────────────────────────────────────────────


def _loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_one:
        fcntl.ioctl(any_one, SET_FLAGS, LOOPBACK_UP)


class Bridge:
    """A port of this box that leads to the proxy; it is open before the command begins."""

    def __init__(self) -> None:
        self._door = -1

    def door(self, path: str) -> None:
        """The folder with the proxy's socket, while it can still be seen."""
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
            rules = Rules()
            rules.begin()
            rules.seal()
        serve_links(ear, served)
