"""The built-in model: a small one that needs no key, no account and no network.

It runs as a child process and is asked over loopback like any other server, so that its memory is
separate. The child starts with the first request, ends with us or after an idle time, and is
restarted after it died. The smallest one can talk but not act: with 135 million parameters it
cannot call tools sensibly, so it gets none, and only as much of a conversation as it can follow.
"""

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace as changed

from hermes.core.errors import ProviderSilent, ProviderTransient
from hermes.core.messages import Line
from hermes.core.ports import Answer, ModelRequest
from hermes.core.signals import Watch
from hermes.providers.endpoint import Endpoint, EndpointLabel
from hermes.providers.openai import OPENAI_CHAT
from hermes.providers.pieces import Quirks
from hermes.providers.served import Served
from hermes.providers.settings import ProviderTimeouts
from hermes.providers.weights.here import LocalModel
from hermes.providers.wire import Wire

SYSTEM: Final = "You are a helpful assistant."  # what it was trained with; others confuse it
SYSTEM_CHARS_MAX: Final = 400
TALK_CHARS_MAX: Final = 6_000
IDLE_S: Final = 600.0
START_S: Final = 180.0  # a large file on a slow disk
END_S: Final = 2.0
DYING_S: Final = 0.5
SAID_CHARS_MAX: Final = 300
_SERVER: Final = Path(__file__).with_name("local_server.py")
_PASSED_ON: Final = ("HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "TMPDIR")
ANSWER_TOKENS_MAX, TALK_TOKENS_MAX = 2_048, 512
# Always the same answer to the same words: a person who tries it twice learns more from that. A
# penalty for repeated words keeps the smallest from going round in circles, and breaks JSON.
PLAIN: Final = Quirks()
BODY: Final = {"temperature": 0.0}
TALK_BODY: Final = {**BODY, "repeat_penalty": 1.1}


def threads() -> int:
    """Return the number of threads: all cores but one."""
    return max(1, (os.cpu_count() or 2) - 1)


def slim(request: ModelRequest) -> ModelRequest:
    """Return what this model can follow: a short system text, the latest messages, no tools."""
    system = request.system if len(request.system) <= SYSTEM_CHARS_MAX else SYSTEM
    kept: list[Line] = []
    room = TALK_CHARS_MAX
    for line in reversed(request.lines):
        if line.role == "tool" or not line.text.strip():
            continue
        text = line.text if len(line.text) <= room else f"… {line.text[-room:]}"
        kept.append(Line(role=line.role, text=text))
        room -= len(text)
        if room <= 0:
            break
    while kept and kept[-1].role != "user":
        kept.pop()
    return changed(request, system=system, lines=tuple(reversed(kept)), tools=(), blobs={})


class LocalServerProcess(Struct, frozen=True):
    """A running server, and the client for it."""

    process: "subprocess.Popen[bytes]"
    served: Served

    def lives(self) -> bool:
        return self.process.poll() is None


class Local:
    """The built-in model in a chain. `command` starts the server; tests bring a smaller one."""

    def __init__(
        self,
        model: LocalModel,
        *,
        timeouts: ProviderTimeouts,
        quirks: Quirks = PLAIN,
        command: Sequence[str] = (sys.executable, "-P", str(_SERVER)),
        environ: Mapping[str, str] = os.environ,
        new_key: Callable[[], str] = lambda: secrets.token_urlsafe(24),
        idle_s: float = IDLE_S,
    ) -> None:
        self._model = model
        self._timeouts = timeouts
        usual = BODY if model.tools else TALK_BODY
        self._quirks = changed(quirks, body={**usual, **quirks.body})
        self._command = tuple(command)
        self._environ = {name: environ[name] for name in _PASSED_ON if name in environ}
        self._new_key = new_key
        self._idle_s = idle_s
        self._starting = asyncio.Lock()
        self._child: LocalServerProcess | None = None
        self._asking = 0
        self._rest: asyncio.TimerHandle | None = None

    @property
    def name(self) -> str:
        return f"local:{self._model.name}"

    @property
    def pid(self) -> int | None:
        """Return the child's process id, while there is one."""
        return self._child.process.pid if self._child is not None else None

    async def ask(self, request: ModelRequest, watch: Watch) -> Answer:
        self._asking += 1
        self._wake()
        try:
            child = await self._running()
            try:
                return await child.served.ask(self._fitted(request), watch)
            except ProviderTransient:
                await asyncio.to_thread(_wait, child.process)  # it may be dying just now
                raise
        finally:
            self._asking -= 1
            if not self._asking:
                self._rest = asyncio.get_running_loop().call_later(self._idle_s, self._leave)

    async def aclose(self) -> None:
        self._wake()
        child, self._child = self._child, None
        if child is not None:
            await child.served.aclose()
            await asyncio.to_thread(_end, child.process)

    def _fitted(self, request: ModelRequest) -> ModelRequest:
        return request if self._model.tools else slim(request)

    def _wake(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    def _leave(self) -> None:
        """Stop the idle child to free its memory."""
        self._rest = None
        child, self._child = self._child, None
        if child is not None:
            _end(child.process)

    async def _running(self) -> LocalServerProcess:
        """Return the running server, started if needed. Raise ProviderSilent; the chain then
        retries with a new one."""
        async with self._starting:
            if self._child is not None and not self._child.lives():
                await self.aclose()
            if self._child is None:
                self._child = await self._start()
            return self._child

    async def _start(self) -> LocalServerProcess:
        key = self._new_key()
        process = subprocess.Popen(  # noqa: ASYNC220 - a fork of a few milliseconds, once
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environ,
            start_new_session=True,  # Ctrl+C stops a turn, not the model
        )
        model = self._model
        order = {
            "weights": str(model.file),
            "name": model.name,
            "key": key,
            "threads": str(threads()),
            "context_tokens": str(model.context_tokens),
            "answer_tokens_max": str(ANSWER_TOKENS_MAX if model.tools else TALK_TOKENS_MAX),
        }
        line = b""
        try:
            async with asyncio.timeout(START_S):
                line = await asyncio.to_thread(_answer, process, order)
            url = json.loads(line)["url"]
        except (TimeoutError, ValueError, KeyError, TypeError, OSError) as failed:
            await asyncio.to_thread(_end, process)
            raise ProviderSilent(_why(process, line)) from failed
        except asyncio.CancelledError:
            _end(process)  # the thread that waits for its answer is freed by that
            raise
        return LocalServerProcess(process, self._served(f"{url}/v1", key))

    def _served(self, url: str, key: str) -> Served:
        whom = EndpointLabel(name=self.name, url=url, key_hint="Start again", secret=key)
        headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
        endpoint = Endpoint(whom=whom, base_url=url, headers=headers, timeouts=self._timeouts)
        return Served(OPENAI_CHAT, Wire(endpoint), self._model.name, self._quirks)


def _wait(process: "subprocess.Popen[bytes]") -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(DYING_S)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _answer(process: "subprocess.Popen[bytes]", order: Mapping[str, str]) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(order).encode() + b"\n")
    process.stdin.flush()
    return process.stdout.readline()


def _why(process: "subprocess.Popen[bytes]", line: bytes) -> str:
    status = process.returncode
    ended = f"status {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"
    said = line.decode("utf-8", "replace").strip()[:SAID_CHARS_MAX] or ended
    return f"The built-in model did not start ({said}). Choose another one: hermes model."
