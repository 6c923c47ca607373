"""This machine as a workspace: its files and its commands behind one port."""

import posixpath
from collections.abc import Sequence

from hermes.ports.terminal import Terminal
from hermes.ports.workspace import (
    Files,
    FileSearch,
    SearchFound,
    WorkspaceManifest,
    WorkspacePaths,
)
from hermes.terminals.local_files import LocalFiles
from hermes.terminals.searching import search_by_command

MANIFEST = WorkspaceManifest(name="local", boxes=True, pipes=True)


class LocalWorkspace:
    """See the Workspace port. `ripgrep` says whether to use it; left open, it is used where
    commands find it. What is guarded is so by its real path too. `scratch` is the folder of the
    scratch places of all conversations; without it, `/tmp` is that of the machine."""

    def __init__(
        self,
        terminal: Terminal,
        *,
        workdir: str,
        home: str,
        guarded: Sequence[str] = (),
        scratch: str = "",
        ripgrep: bool | None = None,
    ) -> None:
        self.manifest = MANIFEST
        self.files: Files = LocalFiles()
        self.terminal = terminal
        both = dict.fromkeys(path for each in guarded for path in (each, self.files.real(each)))
        self.places = WorkspacePaths(
            root=_normalised(workdir),
            home=_normalised(home),
            guarded=tuple(both),
            scratch=self.files.real(scratch) if scratch else "",
        )
        self._ripgrep = ripgrep

    async def search(self, search: FileSearch, /) -> SearchFound:
        fast = bool(self.terminal.which("rg")) if self._ripgrep is None else self._ripgrep
        return await search_by_command(self.terminal, search, ripgrep=fast)

    async def close(self) -> None:
        await self.terminal.close()


def _normalised(path: str) -> str:
    return "/" + posixpath.normpath(posixpath.join("/", path)).lstrip("/")
