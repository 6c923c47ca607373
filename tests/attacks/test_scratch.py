"""SBX-2, RES-3: the scratch place of a conversation, attacked in every box.

It lasts, it is bounded, it shows nothing of the machine's /tmp, and no link in it leads a file tool
out of it.
"""

import os
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId, SessionKey
from hermes.ports.sandbox import Profile, Sandbox
from hermes.ports.terminal import CommandLaunch, Sighting
from hermes.ports.workspace import WorkspacePaths
from hermes.terminals.local import LocalTerminal
from hermes.terminals.local_files import LocalFiles
from hermes.terminals.sandbox.limits import Caps
from hermes.tools.files.opening import JudgedFiles
from tests.attacks.victim import Victim, demand_working, sandbox_of

SMALL = Caps(scratch_bytes=8 * 1024**2)
FILL = (
    "for n in 1 2 3 4 5 6 7 8 9; do head -c 3000000 /dev/zero > $TMP/$n; sleep 0.3; done; sleep 60"
)


class Conversation:
    """Commands with one scratch place, each in a box of its own."""

    def __init__(self, terminal: LocalTerminal, victim: Victim, kind: str, name: str) -> None:
        self.terminal, self.victim = terminal, victim
        self.scratch = str(victim.ours.resolve() / "scratch" / name / "tmp")
        self._mounts = kind != "landlock-plain"  # where nothing can be mounted, TMPDIR says where
        self._numbers = count(1)

    async def run(self, command: str, profile: Profile = "write") -> tuple[Sighting, str]:
        call = CallId(f"{Path(self.scratch).parent.name}-{os.getpid()}-{next(self._numbers)}")
        place = "TMP=/tmp" if self._mounts else "TMP=$TMPDIR"
        launch = CommandLaunch(
            id=call,
            session=SessionKey("s"),
            command=f"{place}; {command}",
            workdir=str(self.victim.workspace),
            timeout_s=60.0,
            profile=profile,
            scratch=self.scratch,
        )
        await self.terminal.launch(launch)
        seen = await self.terminal.wait(call, 90.0)
        return seen, (await self.terminal.read(call, 0, 100_000)).decode()


@pytest.fixture
async def terminal(kind: str, victim: Victim) -> AsyncIterator[LocalTerminal]:
    sandbox: Sandbox = sandbox_of(kind, victim, SMALL)
    demand_working(sandbox, victim)
    opened = LocalTerminal(victim.ours / "calls", environ={}, sandbox=sandbox)
    yield opened
    await opened.close()


async def test_sbx_02_a_scratch_place_lasts_and_is_seen_by_its_conversation_alone(
    terminal: LocalTerminal, victim: Victim, kind: str
) -> None:
    one = Conversation(terminal, victim, kind, "one")
    other = Conversation(terminal, victim, kind, "other")
    seen, said = await one.run("echo kept > $TMP/x && mkdir -p ~/deep && echo home > ~/deep/y")
    assert seen.state.code == 0, said  # type: ignore[union-attr]
    assert (Path(one.scratch) / "x").read_text() == "kept\n"
    assert "kept\nhome\n" in (await one.run("cat $TMP/x ~/deep/y"))[1]
    _, said = await other.run("cat $TMP/x; ls -A $TMP ~; cat ../../*/tmp/x ~/../../../*/tmp/x")
    assert "kept" not in said
    _, said = await one.run("cat $TMP/x; echo no > $TMP/x; rm $TMP/x; sort $TMP/x", "read")
    assert "kept\n" in said, "a command that only reads sees it"
    assert (Path(one.scratch) / "x").read_text() == "kept\n", "and cannot change it"


async def test_sbx_02_a_write_elsewhere_fails_and_says_so(
    terminal: LocalTerminal, victim: Victim, kind: str
) -> None:
    one = Conversation(terminal, victim, kind, "one")
    for path in ("/x", "/var/x", "/usr/x", "/srv/x", "/etc/x", "/opt/x"):
        seen, said = await one.run(f"echo lost > {path}")
        assert seen.state.code not in (0, None), path  # type: ignore[union-attr]
        assert path in said


async def test_res_03_a_scratch_place_that_grows_too_large_ends_the_command(
    terminal: LocalTerminal, victim: Victim, kind: str
) -> None:
    one = Conversation(terminal, victim, kind, "one")
    seen, said = await one.run(FILL)
    assert seen.state.code == 137  # type: ignore[union-attr]
    assert "its /tmp may hold 8 MB" in said
    seen, said = await one.run("rm -f $TMP/[0-9]; echo ok")
    assert "ok" in said, "what fills it can be removed"


async def test_path_01_no_link_in_a_scratch_place_leads_a_file_tool_out_of_it(
    terminal: LocalTerminal, victim: Victim, kind: str
) -> None:
    one = Conversation(terminal, victim, kind, "one")
    await one.run("ln -s /etc/passwd $TMP/up; ln -s ../../../.env $TMP/key; ln -s / $TMP/all")
    ours = str(victim.ours.resolve())
    places = WorkspacePaths(
        root=str(victim.workspace), home=str(victim.home), guarded=(ours,), scratch=one.scratch
    )
    files = JudgedFiles(LocalFiles(), places)
    for name in ("up", "key", "all/etc/passwd"):
        with pytest.raises(ToolFailed):
            files.content(Path(one.scratch) / name, 1_000)
    with pytest.raises(ToolFailed, match="guarded"):
        files.content(Path(one.scratch).parent.parent / "other" / "tmp" / "x", 1_000)
