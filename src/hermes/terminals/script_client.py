"""Let a script call the agent's tools: this file, with one function a tool, is `hermes_tools`.

It runs inside the script's box with any Python from 3.8 on, and needs nothing but the standard
library. It speaks to the gateway through two named pipes: one JSON object a line. Each call has a
number. When another gateway says hello, the calls that wait are said again under their numbers; so
a gateway may die and come back, and the script does not notice.
"""

from __future__ import annotations

import json
import linecache
import os
import shlex
import signal
import sys
import threading
import time
import traceback
import types
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, NoReturn, Sequence  # noqa: UP035 - any Python from 3.8 on

SCRIPT = "<script>"
CALL_BYTES_MAX = 5_000_000
PIECE = 65_536


class ToolError(Exception):
    """A tool failed, or the call was not allowed; the text says why."""


class LimitReached(ToolError):
    """The script has made all the calls that it may make."""


class _Waiting:
    """A call that has no answer yet."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.done = threading.Event()
        self.answer: dict[str, Any] = {}

    def result(self) -> str:
        self.done.wait()
        if self.answer.get("ok"):
            return str(self.answer.get("result", ""))
        kind = LimitReached if self.answer.get("limit") else ToolError
        raise kind(self.answer.get("error", "the call failed"))


class _Gateway:
    """Our end of the two pipes. We hold both sides open, so they outlive every gateway."""

    def __init__(self, folder: str) -> None:
        self._asks = os.open(os.path.join(folder, "asks"), os.O_RDWR)  # noqa: PTH118 - as above
        self._answers = os.open(os.path.join(folder, "answers"), os.O_RDWR)  # noqa: PTH118
        self._guard = threading.RLock()
        self._number = 0
        self._open: dict[int, _Waiting] = {}
        self.over = ""  # why the script must end
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[_Waiting]:
        """Say these calls at once. Arguments that are None are left out."""
        line = _line_of_script()
        with self._guard:
            made = []
            for tool, arguments in calls:
                given = {name: value for name, value in arguments.items() if value is not None}
                said = {"id": self._number + 1, "tool": tool, "arguments": given, "line": line}
                text = json.dumps(said).encode() + b"\n"
                if len(text) > CALL_BYTES_MAX:
                    raise ToolError(f"{tool}: the arguments are longer than {CALL_BYTES_MAX} bytes")
                self._number += 1
                self._open[self._number] = _Waiting(text)
                made.append(self._open[self._number])
            self._write(b"".join(each.line for each in made))
        return made

    def _write(self, text: bytes) -> None:
        left = memoryview(text)
        while left:
            left = left[os.write(self._asks, left) :]

    def _listen(self) -> None:
        kept = b""
        while True:
            kept += os.read(self._answers, PIECE)
            *lines, kept = kept.split(b"\n")
            for line in lines:
                try:
                    said = json.loads(line)
                except ValueError:  # cut off by the death of a gateway
                    continue
                self._take(said)

    def _take(self, said: dict[str, Any]) -> None:
        if "hello" in said:
            threading.Thread(target=self._again, daemon=True).start()
        elif "over" in said:
            self.over = str(said["over"])
            os.kill(os.getpid(), signal.SIGINT)  # wakes the main thread, also out of a sleep
        else:
            with self._guard:
                waiting = self._open.pop(said.get("id", 0), None)
            if waiting is not None:
                waiting.answer = said
                waiting.done.set()

    def _again(self) -> None:
        """Another gateway reads: what still waits is said again, in order."""
        with self._guard:
            self._write(b"".join(each.line for each in self._open.values()))


_connections: list[_Gateway] = []  # none, or the one of this process


def call(tool: str, /, **arguments: Any) -> str:
    """Call a tool by its name and return its result as text. Raise ToolError when it fails."""
    return _connected().send([(tool, arguments)])[0].result()


def parallel(calls: Sequence[Any]) -> list[Any]:
    """Make calls side by side, each `("tool", {arguments})` or a function without arguments.
    Return their results in this order; when one failed, raise its error after all have ended."""
    named = [each for each in calls if not callable(each)]
    waiting = iter(_connected().send([(name, dict(given)) for name, given in named]))
    work = [each if callable(each) else next(waiting).result for each in calls]
    with ThreadPoolExecutor(max_workers=max(len(work), 1)) as pool:
        futures = [pool.submit(each) for each in work]
    return [future.result() for future in futures]


def json_parse(text: str) -> Any:
    """Read JSON out of a text, also when it stands in a fence or behind other words."""
    text = text.strip()
    starts = [0, *(place for place in (text.find("{"), text.find("[")) if place > 0)]
    for start in sorted(starts):
        try:
            return json.JSONDecoder(strict=False).raw_decode(text, start)[0]
        except ValueError:
            continue
    raise ValueError("there is no JSON in that text")


def shell_quote(text: Any) -> str:
    """Quote a text as one word of a shell command."""
    return shlex.quote(str(text))


def retry(function: Callable[[], Any], times: int = 3, wait_s: float = 1.0) -> Any:
    """Call the function until it succeeds, at most so many times, with growing pauses."""
    for turn in range(1, times + 1):
        try:
            return function()
        except ToolError:
            if turn == times:
                raise
            time.sleep(wait_s * turn)
    raise ValueError("retry: times must be 1 or more")


def _connected() -> _Gateway:
    if not _connections:
        raise ToolError("only a script of execute_code can call tools")
    return _connections[0]


def _line_of_script() -> int:
    """Return the line of the script that calls, for the person who is asked about it."""
    frame = sys._getframe(1)  # noqa: SLF001 - the only way to know one's caller
    while frame is not None:
        if frame.f_code.co_filename == SCRIPT:
            return frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return 0


def _end(_number: int, _frame: object) -> NoReturn:
    over = _connections[0].over if _connections else ""
    raise TimeoutError(over) if over else KeyboardInterrupt


def _show(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Print an error with the script's lines, without ours."""
    while trace is not None and trace.tb_frame.f_code.co_filename != SCRIPT:
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


def _main(folder: str) -> None:
    """Run the script as a program of its own."""
    with open(os.path.join(folder, "code", "script.py"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
        source = file.read()
    _connections.append(_Gateway(folder))
    signal.signal(signal.SIGINT, _end)
    sys.modules["hermes_tools"] = sys.modules["__main__"]
    program = types.ModuleType("__main__")
    sys.modules["__main__"] = program
    sys.argv, sys.path[0] = [SCRIPT], os.getcwd()  # noqa: PTH109 - as above
    linecache.cache[SCRIPT] = (len(source), None, source.splitlines(keepends=True), SCRIPT)
    sys.excepthook = _show
    exec(compile(source, SCRIPT, "exec"), program.__dict__)  # noqa: S102 - that is the task
