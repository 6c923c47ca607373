"""Scripts on this machine: their folders beside those of commands, and our end of their pipes.

Both ends hold both pipes open for reading and writing, so none of them sees the other one's death
as an end of file. What a gateway had read in part is lost with it; the next one says hello, and the
script says its open calls again.
"""

import asyncio
import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from hermes.core.ids import CallId
from hermes.ports.scripts import ScriptAnswer, ScriptCall, ScriptFiles
from hermes.terminals.records import OF_SCRIPT

CLIENT = Path(__file__).with_name("script_client.py")
LIBRARY, SCRIPT, TIMEOUT = "hermes_tools.py", "script.py", "timeout"
START = '\n\nif __name__ == "__main__":\n    _main(sys.argv[1])\n'
ASKS, ANSWERS = "asks", "answers"
PIECE = 65_536
LINE_BYTES_MAX = 6_000_000  # more is no call; the client has a limit below this
SAID_MAX = 1_000  # calls that were said and are not taken
HELLO = "hermes"

_calls = msgspec.json.Decoder(ScriptCall)


class LocalScripts:
    """See the ScriptFolders port. A folder goes with those of old commands."""

    def __init__(self, calls: Path) -> None:
        self._calls = calls

    def prepare(self, call: CallId, code: str, functions: str, timeout_s: float) -> ScriptFiles:
        folder = self._folder(call)
        inner = folder / "code"
        inner.mkdir(mode=0o700, parents=True, exist_ok=True)
        _put(folder / TIMEOUT, str(timeout_s))
        _put(inner / SCRIPT, code)
        _put(inner / LIBRARY, CLIENT.read_text("utf-8") + functions + START)
        pipes = (folder / ASKS, folder / ANSWERS)
        for pipe in pipes:
            with contextlib.suppress(FileExistsError):
                os.mkfifo(pipe, 0o600)
        return ScriptFiles(
            arguments=("-u", str(inner / LIBRARY), str(folder)),
            readable=(str(inner),),
            pipes=(str(pipes[0]), str(pipes[1])),
        )

    def code(self, call: CallId) -> Sequence[str]:
        try:
            return (self._folder(call) / "code" / SCRIPT).read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return ()

    def timeout_s(self, call: CallId) -> float:
        try:
            return float((self._folder(call) / TIMEOUT).read_text("utf-8"))
        except (OSError, ValueError):
            return 0.0

    def talk(self, call: CallId) -> "LocalTalk":
        return LocalTalk(self._folder(call))

    def _folder(self, call: CallId) -> Path:
        return self._calls / f"{call}{OF_SCRIPT}"


def _put(path: Path, text: str) -> None:
    """Write a file that is whole wherever it is there; a script may be reading it."""
    new = path.with_suffix(f".{os.getpid()}.new")
    new.write_text(text, "utf-8")
    new.replace(path)


class LocalTalk:
    """See the ScriptTalk port."""

    def __init__(self, folder: Path) -> None:
        flags = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
        self._asks = os.open(folder / ASKS, flags)
        self._answers = os.open(folder / ANSWERS, flags)
        self._kept, self._out = bytearray(), bytearray()
        self._said: list[ScriptCall] = []
        self._writing = False
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._asks, self._read)
        self._out += b"\n"  # ends a line that another gateway began: it is no JSON then
        self.send(ScriptAnswer(hello=HELLO))

    def taken(self) -> Sequence[ScriptCall]:
        said, self._said = self._said, []
        self._news.clear()
        return said

    async def news(self) -> None:
        await self._news.wait()

    def send(self, answer: ScriptAnswer) -> None:
        self._out += msgspec.json.encode(answer) + b"\n"
        self._write()

    def close(self) -> None:
        self._loop.remove_reader(self._asks)
        if self._writing:
            self._loop.remove_writer(self._answers)
        os.close(self._asks)
        os.close(self._answers)

    def _read(self) -> None:
        try:
            piece = os.read(self._asks, PIECE)
        except BlockingIOError:
            return
        self._kept += piece
        if b"\n" not in piece:
            if len(self._kept) > LINE_BYTES_MAX:
                self._kept.clear()
            return
        *lines, rest = bytes(self._kept).split(b"\n")
        self._kept = bytearray(rest)
        for line in lines:
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                if len(self._said) < SAID_MAX:
                    self._said.append(_calls.decode(line))
        self._news.set()

    def _write(self) -> None:
        try:
            while self._out:
                del self._out[: os.write(self._answers, self._out[:PIECE])]
        except BlockingIOError:
            if not self._writing:
                self._writing = True
                self._loop.add_writer(self._answers, self._write)
            return
        if self._writing:
            self._writing = False
            self._loop.remove_writer(self._answers)
