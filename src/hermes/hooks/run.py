"""Run a hook's program once: JSON in, JSON out, within a time limit.

When a process is killed, its whole process group is killed. A child that left the group and kept
the pipes open is not waited for.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from hermes.hooks.declared import Hook
from hermes.ports.sandbox import BoxRequest as SandboxWish
from hermes.ports.sandbox import Profile, Sandbox

OUT_BYTES_MAX = 64_000
ERROR_BYTES_MAX = 2_000
DRAIN_S = 0.5
REAP_S = 5.0
PASSED = ("PATH", "HOME", "LANG")


class HookOutput(Struct, frozen=True, forbid_unknown_fields=True):
    """A hook's output: a message for the chat, a line for the log."""

    say: str = ""
    log: str = ""


class Failure(Struct, frozen=True):
    problem: str
    error: str = ""  # the end of its standard error


class _Talk(asyncio.SubprocessProtocol):
    """Collect the start of a process's standard output and the end of its standard error."""

    def __init__(self) -> None:
        self.out = bytearray()
        self.error = bytearray()
        self.open = {1, 2}
        self.over = asyncio.Event()  # it exited, or printed too much
        self.exited = asyncio.Event()
        self.drained = asyncio.Event()
        self.gone = asyncio.Event()

    @property
    def flooded(self) -> bool:
        return len(self.out) > OUT_BYTES_MAX

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.error = (self.error + data)[-ERROR_BYTES_MAX:]
        elif not self.flooded:
            self.out += data
            if self.flooded:
                self.over.set()

    def pipe_connection_lost(self, fd: int, _exc: Exception | None) -> None:
        self.open.discard(fd)
        if not self.open:
            self.drained.set()

    def process_exited(self) -> None:
        self.exited.set()
        self.over.set()

    def connection_lost(self, _exc: Exception | None) -> None:
        self.gone.set()


def environment(environ: Mapping[str, str], home: str) -> dict[str, str]:
    """Return the environment of a hook, from an allow-list: it has none of the gateway's
    secrets."""
    passed = {name: environ[name] for name in PASSED if name in environ}
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **passed, "HERMES_HOME": home}


class Boxes(Struct, frozen=True, kw_only=True):
    """The sandbox that hooks run in. `readable` is what their Python needs."""

    sandbox: Sandbox
    profile: Profile
    workspace: str
    readable: tuple[str, ...] = ()


class Start(Struct, frozen=True):
    """The command line and environment of a program."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


def started(hook: Hook, environment: Mapping[str, str], boxes: Boxes | None) -> Start:
    """Return how to start the hook: sandboxed, unless its owner disabled that. Raise ToolFailed if
    no sandbox can be built."""
    if boxes is None or not hook.boxed:
        return Start(hook.command, environment)
    box = boxes.sandbox.box(
        SandboxWish(
            profile=boxes.profile,
            call=f"hook-{hook.name}",
            workdir=hook.folder,
            readable=(hook.folder, *boxes.readable),
        )
    )
    told = {"HERMES_HOME": environment["HERMES_HOME"], "HERMES_WORKSPACE": boxes.workspace}
    return Start(tuple(box.around(hook.command)), {**box.environment, **told})


async def run(hook: Hook, value: bytes, start: Start) -> HookOutput | Failure:
    try:
        transport, talk = await _begun(hook, start)
    except (OSError, ValueError) as refused:
        return Failure(f"could not be started ({refused})")
    try:
        _tell(transport, value)
        async with asyncio.timeout(hook.timeout_s):
            await talk.over.wait()
            await _within(DRAIN_S, talk.drained)
    except TimeoutError:
        return Failure(f"took longer than {hook.timeout_s:g} s", _text(talk.error))
    finally:
        code = transport.get_returncode()
        await _end(transport, talk)
    return _outcome(talk, code)


async def _begun(hook: Hook, start: Start) -> tuple[asyncio.SubprocessTransport, _Talk]:
    """Start the process. If this is cancelled half-way, end the process, which would leak
    otherwise."""
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            _Talk,
            *start.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=hook.folder,
            env=dict(start.environment),
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError, ValueError):
            await _end(*await starting)
        raise


async def _end(transport: asyncio.SubprocessTransport, talk: _Talk) -> None:
    if transport.get_returncode() is None or not talk.drained.is_set():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(transport.get_pid(), signal.SIGKILL)
    await _within(REAP_S, talk.exited)  # closing first would take its status from the watcher
    transport.close()
    await _within(REAP_S, talk.gone)


async def _within(limit_s: float, event: asyncio.Event) -> None:
    """Wait for the event, up to a limit. `wait_for` can swallow a cancellation in Python 3.11."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            await event.wait()


def _tell(transport: asyncio.SubprocessTransport, value: bytes) -> None:
    pipe = transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        pipe.write(value)
        pipe.close()  # after writing; a program that does not read its input is fine


def _outcome(talk: _Talk, code: int | None) -> HookOutput | Failure:
    error = _text(talk.error)
    if talk.flooded:
        return Failure(f"printed more than {OUT_BYTES_MAX:,} bytes", error)
    if code != 0:
        return Failure(f"ended with status {code}", error)
    printed = bytes(talk.out).strip()
    if printed in (b"", b"null"):
        return HookOutput()
    try:
        return msgspec.json.decode(printed, type=HookOutput)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as garbled:
        problem = f'did not print {{"say": "…"}} or {{"log": "…"}} ({garbled})'
        return Failure(problem, error)


def _text(error: bytearray) -> str:
    return bytes(error).decode("utf-8", "replace").strip()
