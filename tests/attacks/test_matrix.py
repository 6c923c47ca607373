"""The table of docs/SECURITY.md that says what each box promises, tried on every kind there is."""

import os
import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.ports.sandbox import BoxRequest, Profile, Sandbox
from hermes.terminals.sandbox.choice import Machinery, find_sandbox, landlock_version
from hermes.terminals.sandbox.landlock import ABI_MIN
from tests.attacks.victim import CANARY, Victim, boxed

DOCS = Path(__file__).parents[2] / "docs"
COLUMNS = {
    ("landlock", True): "Hermes, root",
    ("landlock", False): "Hermes, user",
    ("bubblewrap", True): "bubblewrap, root",
    ("bubblewrap", False): "bubblewrap, user",
    ("landlock-plain", True): "Landlock alone, root",
    ("landlock-plain", False): "Landlock alone, user",
}
NEITHER = "none of them"
ROOT = os.geteuid() == 0
ENDED_S_MAX = 5.0
COMM = f"/proc/{os.getpid()}/comm"
NAME = Path(COMM).read_text("utf-8").strip()


def table() -> dict[str, dict[str, str]]:
    """Return the table: promise, column, its text."""
    section = (DOCS / "SECURITY.md").read_text("utf-8").partition("## What each box promises")[2]
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    names = rows[0][1:]
    return {row[0]: dict(zip(names, row[1:], strict=True)) for row in rows[2:]}


class Inside:
    """One box, and what was found in it."""

    def __init__(self, sandbox: Sandbox, victim: Victim) -> None:
        self.sandbox = sandbox
        self.victim = victim

    def says(self, command: str, profile: Profile = "write", *covered: str) -> str:
        return boxed(self.sandbox, self.victim, command, profile, covered).text

    def guards(self, name: str) -> bool:
        return any(guard.active for guard in self.sandbox.probe() if guard.name == name)

    def unchanged(self, command: str) -> bool:
        before = self.victim.state()
        self.says(command)
        return self.victim.state() == before

    def covers(self, profile: Profile) -> bool:
        (self.victim.workspace / ".env").write_text(CANARY)
        try:
            return CANARY not in self.says("cat .env", profile, ".env")
        except ToolFailed:
            return False

    def arguments(self) -> tuple[str, ...]:
        wish = BoxRequest(profile="read", call="look", workdir=str(self.victim.workspace))
        return self.sandbox.box(wish).arguments

    def ends_leftovers(self) -> bool:
        mark = f"60.{os.getpid()}1"
        self.says(f"setsid sleep {mark} >/dev/null 2>&1 & sleep 0.1")
        until = time.monotonic() + ENDED_S_MAX
        while (left := _pids(mark)) and time.monotonic() < until:
            time.sleep(0.05)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return not left

    def reaches_hosts(self) -> bool:
        guard = next(guard for guard in self.sandbox.probe() if guard.name == "network")
        return guard.by != "no sockets"


def _pids(mark: str) -> list[int]:
    found = []
    for place in Path("/proc").iterdir():
        try:
            line = (place / "cmdline").read_bytes() if place.name.isdigit() else b""
        except OSError:
            continue
        if line.startswith(b"sleep\0") and mark.encode() in line:
            found.append(int(place.name))
    return found


STAT = "stat -c 'SEEN %s' @HOME@/.ssh/id_rsa @HOME@/project/app.py"
SOCKET = "import socket; socket.socket(socket.AF_UNIX); print('SEEN')"
PROBES: dict[str, Callable[[Inside], bool]] = {
    "files outside of the workspace stay as they are": lambda box: box.unchanged(
        "rm -rf @HOME@/project; echo x >> @HOME@/.bashrc; chmod 777 @HOME@/.ssh/id_rsa"
    ),
    "hidden files cannot be read": lambda box: (
        CANARY not in box.says("cat @HOME@/.ssh/id_rsa @HOME@/.hermes/.env")
    ),
    "hidden files have no name, size or time": lambda box: "SEEN" not in box.says(STAT),
    "files that run later cannot be changed": lambda box: box.unchanged(
        "echo x >> .git/config; echo x >> .envrc"
    ),
    "private files can be covered for a command that reads": lambda box: box.covers("read"),
    "private files can be covered for a command that writes": lambda box: box.covers("write"),
    "the kernel's knobs stay as they are": lambda box: box.unchanged(
        "echo x > /proc/sys/kernel/core_pattern; echo 1 > /proc/sys/kernel/sysrq"
    ),
    "it is not root, and no other user of the machine": lambda box: box.guards("user of its own"),
    "keys of the session and the kernel's memory do not show": lambda box: (
        box.says("cat /proc/keys /proc/key-users /proc/kcore 2>/dev/null | wc -c").strip() == "0"
    ),
    "no capability, and none can be gained": lambda box: (
        "CapEff:\t0000000000000000" in box.says("cat /proc/self/status")
    ),
    "no setuid program is left": lambda box: box.unchanged(
        "cp /bin/true kept; chmod 4755 kept; install -m 2755 /bin/true kept2"
    ),
    "the filter of system calls": lambda box: box.guards("system calls"),
    "Landlock judges every file once more": lambda box: "seal" in box.arguments(),
    "Landlock keeps signals and sockets inside": lambda box: bool(
        {"seal", "scope"} & set(box.arguments())
    ),
    "no network, no socket with a name": lambda box: (
        "SEEN"
        not in box.says(f'(echo x >/dev/tcp/127.0.0.1/1) && echo SEEN; python3 -c "{SOCKET}"')
    ),
    "hosts of `terminal.allow_hosts` can be reached": Inside.reaches_hosts,
    "other processes cannot be read or signalled": lambda box: (
        "SEEN"
        not in box.says(
            f"kill -0 {os.getpid()} && echo SEEN; cat /proc/{os.getpid()}/environ && echo SEEN"
        )
    ),
    "other processes do not even show": lambda box: (
        "SEEN" not in box.says(f"cmp {COMM} - <<< '{NAME}' && echo SEEN")
    ),
    "what it leaves running ends with it": Inside.ends_leftovers,
    "`/tmp` and `/dev/shm` of its own, limited": lambda box: box.guards("scratch space"),
    "the number of its processes is limited": lambda box: box.guards("number of processes"),
    "the memory of all of them is limited": lambda box: box.guards("memory of all of them"),
}
GROUPED = ("the number of its processes is limited", "the memory of all of them is limited")


@pytest.fixture(params=["bubblewrap", "landlock", "landlock-plain"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_promise_is_tried() -> None:
    assert list(table()) == list(PROBES)
    for cells in table().values():
        assert set(cells) == {*COLUMNS.values(), NEITHER}
        assert set(cells.values()) - {"yes", "no", "nothing runs"} == set()


@pytest.mark.skipif(
    shutil.which("python3", path="/usr/local/bin:/usr/bin") is None, reason="no python3 for a box"
)
def test_sbx_03_each_box_keeps_what_the_table_promises_and_no_more(
    kind: str, sandbox: Sandbox, victim: Victim
) -> None:
    column, inside = COLUMNS[kind, ROOT], Inside(sandbox, victim)
    told = {name: cells[column] for name, cells in table().items()}
    if ROOT and not inside.guards("memory of all of them"):  # no control groups to be had
        told = {name: said for name, said in told.items() if name not in GROUPED}
    if landlock_version() < ABI_MIN:
        told = {name: said for name, said in told.items() if not name.startswith("Landlock")}
    if not Path("/proc/keys").exists():  # a kernel without keys shows none
        told = {name: said for name, said in told.items() if not name.startswith("keys of")}
    found = {name: "yes" if PROBES[name](inside) else "no" for name in told}
    assert found == told


def test_sbx_06_with_none_of_them_nothing_runs(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    bare = Machinery(which=lambda _name: "", landlock=lambda: -38)
    box = find_sandbox(
        "auto", workspace=tmp_path / "work", home=tmp_path / "home", environ={}, machinery=bare
    )
    with pytest.raises(ToolFailed, match="Nothing was run"):
        box.box(BoxRequest(profile="write", call="c", workdir=str(tmp_path / "work")))
    assert {cells[NEITHER] for cells in table().values()} == {"nothing runs"}


def test_the_probe_names_are_words_of_the_table() -> None:
    assert not [name for name in PROBES if re.search(r"[|\n]", name)]
