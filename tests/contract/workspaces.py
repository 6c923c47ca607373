"""The workspaces that the contract suites run on, and a program that dies while it uses one.

To add a backend: a function here that opens the workspace of a folder, so that opening it twice is
the same place as two processes see it, and its name in `KINDS`. The suites use only the port.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from hermes.core.ids import CallId, SessionKey
from hermes.ports.terminal import CommandLaunch, Ended
from hermes.ports.workspace import FileAccess, FileSearch, Workspace
from hermes.terminals.local import LocalTerminal
from hermes.terminals.register import CommandLimits
from hermes.terminals.workspace import LocalWorkspace

SESSION = SessionKey("agent:main:test:dm:1")
CALL = CallId("call-1")
OUTPUT_BYTES_MAX = 100_000
PATIENCE_S = 60.0


def local(folder: Path) -> Workspace:
    for name in ("work", "home", "ours"):
        (folder / name).mkdir(exist_ok=True)
    limits = CommandLimits(grace_s=0.4, output_bytes=OUTPUT_BYTES_MAX)
    terminal = LocalTerminal(folder / "calls", environ=os.environ, limits=limits)
    return LocalWorkspace(
        terminal,
        workdir=str(folder / "work"),
        home=str(folder / "home"),
        guarded=(str(folder / "ours"),),
    )


KINDS: Mapping[str, Callable[[Path], Workspace]] = {"local": local}


class Place:
    """One place, which can be opened more than once, and short words for what tests do there."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.opened: list[Workspace] = []
        self.here = self.again()
        self.root = self.here.places.root
        self._made = 0

    def again(self) -> Workspace:
        """As another process sees it."""
        self.opened.append(KINDS[self.kind](self.folder))
        return self.opened[-1]

    def launch(
        self, command: str, call: str = CALL, *, background: bool = False, timeout_s: float = 20.0
    ) -> CommandLaunch:
        return CommandLaunch(
            id=CallId(call),
            session=SESSION,
            command=command,
            workdir=self.root,
            timeout_s=None if background else timeout_s,
            background=background,
        )

    async def run(self, command: str) -> str:
        """What it prints; it must end well."""
        self._made += 1
        launch, terminal = self.launch(command, f"run-{self._made}"), self.here.terminal
        await terminal.launch(launch)
        seen = await terminal.wait(launch.id, PATIENCE_S)
        said = (await terminal.read(launch.id, 0, OUTPUT_BYTES_MAX)).decode()
        assert seen.state == Ended(0), (command, seen.state, said)
        return said

    def access(self) -> FileAccess:
        """To everything beneath the root."""
        return FileAccess(beneath=self.root, permit=lambda _real: None)

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def put(self, name: str, content: bytes) -> str:
        path = self.path(name)
        self.here.files.replace(path, content, self.access(), tag="test")
        return path

    def content(self, name: str) -> bytes:
        with self.here.files.open(self.path(name), self.access()) as file:
            return file.stream.read()

    def search(self, pattern: str, **more: object) -> FileSearch:
        self._made += 1
        given: dict[str, object] = {
            "id": CallId(f"search-{self._made}"),
            "session": SESSION,
            "target": "content",
            "pattern": pattern,
            "where": "./",
            "workdir": self.root,
            "limit": 50,
            "timeout_s": 30.0,
        }
        return FileSearch(**(given | more))  # type: ignore[arg-type]

    async def clear(self) -> None:
        terminal = self.here.terminal
        for call in await terminal.strays():
            await terminal.stop(call, "stopped")
        for workspace in self.opened:
            await workspace.close()


async def _owner(kind: str, folder: str, command: str, timeout_s: float) -> None:
    """Launch a command there, say so, and wait until somebody kills us."""
    place = Place(kind, Path(folder))
    seen = await place.here.terminal.launch(place.launch(command, timeout_s=timeout_s))
    sys.stdout.write(f"{type(seen.state).__name__}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_owner(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])))
