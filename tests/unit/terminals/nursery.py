"""Lives of a gateway that are cut off: each order on standard input is one forked process.

A life launches a command through the real tool and is killed with SIGKILL at the n-th line of our
terminal's code that it executes, whichever thread executes it; the points are counted, not typed
in. With `at` 0 it lives on and reports at which counts a line is executed for the first time, and
at which ones the disk is written to or a process started. A life that seeks is the next gateway:
it looks for the outcome of the same call.
"""

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import cast

import hermes.terminals
from hermes.core.channel import CommandContext
from hermes.core.ids import CallId, SessionKey, TurnId
from hermes.core.messages import Call
from hermes.core.ports import ToolContext
from hermes.terminals.local import LocalTerminal
from hermes.terminals.register import CommandLimits
from hermes.terminals.workspace import LocalWorkspace
from hermes.tools.defaults import default_tools

CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "subprocess.Popen"}
WATCHED = str(Path(hermes.terminals.__file__).parent)
CALL = CallId("turn-1")


class Counter:
    """Counts executed lines of the watched folder, over all threads."""

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0
        self.firsts: dict[tuple[str, int], int] = {}
        self.changes: set[int] = set()
        self.lock = threading.Lock()

    def audit(self, event: str, arguments: tuple[object, ...]) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
        if writes or event in CHANGES:
            self.changes.add(self.count)

    def trace(
        self, frame: FrameType, event: str, _argument: object
    ) -> Callable[..., object] | None:
        if not frame.f_code.co_filename.startswith(WATCHED):
            return None
        if event == "line":
            with self.lock:
                self.count += 1
                self.firsts.setdefault((frame.f_code.co_filename, frame.f_lineno), self.count)
                if self.count == self.at:
                    os.kill(os.getpid(), signal.SIGKILL)
        return self.trace


async def live(order: dict[str, str], home: Path) -> dict[str, object]:
    terminal = LocalTerminal(home / "calls", environ=os.environ, limits=CommandLimits(grace_s=0.3))
    tool = default_tools(LocalWorkspace(terminal, workdir=str(home), home=str(home)))[0]
    call = Call(id=CALL, tool="terminal", arguments=json.dumps(json.loads(order["arguments"])))
    context = ToolContext(
        session=SessionKey("s"),
        turn=TurnId("turn"),
        call=call,
        facts={},
        labels=frozenset(),
        watch=lambda _: None,
        host=cast("CommandContext", None),
    )
    if order["life"] == "seek":
        assert tool.recover is not None
        result = await tool.recover(context)
    else:
        result = await tool.run(context)
    await terminal.close()
    return {"outcome": result.outcome.value, "text": result.text} if result else {"outcome": None}


def one_life(order: dict[str, str]) -> None:
    home = Path(order["home"])
    home.mkdir(parents=True, exist_ok=True)
    counter = Counter(int(order["at"]))
    if order["life"] == "run":
        sys.addaudithook(counter.audit)
        threading.settrace(counter.trace)
        sys.settrace(counter.trace)
    report = asyncio.run(live(order, home))
    sys.settrace(None)
    report["firsts"] = sorted(counter.firsts.values())
    report["changes"] = sorted(counter.changes)
    report["count"] = counter.count
    (home / f"{order['life']}.json").write_text(json.dumps(report))


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            one_life(json.loads(line))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
