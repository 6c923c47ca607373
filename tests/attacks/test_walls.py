"""SBX-3, SBX-4, SBX-5, SBX-8, SEC-3: what a command cannot reach, tried from the inside."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.ports.sandbox import BoxRequest, Sandbox
from hermes.terminals.environment import UNATTENDED
from tests.attacks.victim import CANARY, Victim, boxed, demand_working, ran, sandbox_of

needs_python = pytest.mark.skipif(
    shutil.which("python3", path="/usr/local/bin:/usr/bin") is None, reason="no python3 for a box"
)
TALK = """
import socket, sys
def tried(name, family, kind, address, connect=True):
    try:
        made = socket.socket(family, kind)
        made.settimeout(1)
        made.connect(address)
        made.send(b"hello")
        print("REACHED", name)
    except OSError as refused:
        print("refused", name, refused)
tcp, udp, path = sys.argv[1:]
tried("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(tcp)))
tried("tcp6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", int(tcp)))
tried("outside", socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80))
tried("file", socket.AF_UNIX, socket.SOCK_STREAM, path)
tried("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + path)
for kind, name in ((socket.SOCK_DGRAM, "datagram pair"), (socket.SOCK_RAW, "raw pair")):
    try:
        here, there = socket.socketpair(socket.AF_UNIX, kind)
        here.sendto(b"hello", path + ".datagrams")
        print("REACHED", name)
    except OSError as refused:
        print("refused", name, refused)
try:
    socket.getaddrinfo("example.com", 80)
    print("REACHED names")
except OSError as refused:
    print("refused names", refused)
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", ("127.0.0.1", int(udp)))
except OSError as refused:
    print("refused udp", refused)
for name, family, kind, protocol in (
    ("icmp", socket.AF_INET, socket.SOCK_RAW, 1),
    ("packet", socket.AF_PACKET, socket.SOCK_RAW, 3),
    ("vsock", 40, socket.SOCK_STREAM, 0),
):
    try:
        made = socket.socket(family, kind, protocol)
        if name == "vsock":
            made.settimeout(1)
            made.connect((2, 1024))
        print("REACHED", name)
    except OSError as refused:
        print("refused", name, refused)
"""
DEBUG = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
pid = int(sys.argv[1])
for number in (0, signal.SIGTERM, signal.SIGKILL):
    try:
        os.kill(pid, number)
        print("REACHED signal", number)
    except OSError as refused:
        print("refused", refused)
print("REACHED trace" if libc.ptrace(16, pid, 0, 0) == 0 else "refused trace")
try:
    print("REACHED", os.pidfd_open(pid))
except OSError as refused:
    print("refused", refused)
"""


class Ears:
    """Servers that a command could talk to on this machine."""

    def __init__(self, place: Path, stack: ExitStack) -> None:
        self.path = str(place / "ear")
        self.tcp = self._open(stack, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.udp = self._open(stack, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self._open(stack, socket.AF_UNIX, socket.SOCK_STREAM, self.path)
        self._open(stack, socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.path)
        self._open(stack, socket.AF_UNIX, socket.SOCK_DGRAM, self.path + ".datagrams")

    def _open(self, stack: ExitStack, family: int, kind: int, address: object) -> socket.socket:
        ear = stack.enter_context(socket.socket(family, kind))
        ear.bind(address)  # type: ignore[arg-type]
        ear.settimeout(0)
        if kind == socket.SOCK_STREAM:
            ear.listen()
        return ear


@pytest.fixture
def ears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ears]:
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        yield Ears(tmp_path, stack)


@needs_python
def test_sbx_05_no_network_and_no_socket_of_this_machine(
    sandbox: Sandbox, victim: Victim, ears: Ears
) -> None:
    (victim.workspace / "talk.py").write_text(TALK)
    ports = f"{ears.tcp.getsockname()[1]} {ears.udp.getsockname()[1]}"
    said = boxed(sandbox, victim, f"python3 talk.py {ports} {ears.path}").text
    assert "refused tcp" in said
    assert "REACHED" not in said
    with pytest.raises(BlockingIOError):
        ears.udp.recv(100)


def test_sbx_05_bash_has_no_network_either(sandbox: Sandbox, victim: Victim, ears: Ears) -> None:
    port = ears.tcp.getsockname()[1]
    command = f"(echo x >/dev/tcp/127.0.0.1/{port}) && echo REACHED; (echo x >/dev/udp/1.2.3.4/53)"
    assert "REACHED" not in boxed(sandbox, victim, command).text
    with pytest.raises(BlockingIOError):
        ears.tcp.accept()


@needs_python
def test_sbx_04_the_gateway_cannot_be_signalled_traced_or_read(
    sandbox: Sandbox, victim: Victim
) -> None:
    (victim.workspace / "debug.py").write_text(DEBUG)
    environment = {**os.environ, "SECRET": CANARY}
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=environment
    ) as other:
        command = (
            f"python3 debug.py {other.pid}; cat /proc/{other.pid}/environ /proc/{other.pid}/mem; "
            "cat /proc/*/environ; ls -l /proc/*/fd /proc/*/cwd; kill -9 -1"
        )
        said = boxed(sandbox, victim, command).text
        assert other.poll() is None
        other.kill()
    assert "refused trace" in said
    assert "REACHED signal" not in said
    assert "REACHED trace" not in said
    assert CANARY not in said


def test_sbx_03_nobody_has_a_capability_inside(sandbox: Sandbox, victim: Victim) -> None:
    said = boxed(sandbox, victim, "grep -E '^(Cap|NoNewPrivs)' /proc/self/status").text
    wanted = {f"Cap{kind}:\t{'0' * 16}" for kind in ("Inh", "Prm", "Eff", "Amb")}
    assert wanted | {"NoNewPrivs:\t1"} <= set(said.splitlines())


def test_sbx_03_mounts_cannot_be_undone(sandbox: Sandbox, victim: Victim) -> None:
    command = (
        "mount -o remount,rw,bind / && echo REACHED; umount /proc && echo REACHED; "
        "mount -t tmpfs none . && echo REACHED; unshare -Ur true && echo REACHED; "
        "unshare -n true && echo REACHED; chroot . true && echo REACHED; "
        "mount -t proc none . && echo REACHED; mknod m c 1 1 && echo REACHED; true"
    )
    assert "REACHED" not in boxed(sandbox, victim, command).text


def test_sec_03_the_environment_is_an_allow_list(sandbox: Sandbox, victim: Victim) -> None:
    said = boxed(sandbox, victim, "env | cut -d= -f1; cat /proc/self/environ").text
    names = set(said.split("\0")[0].splitlines()) - {"_", "PWD", "OLDPWD", "SHLVL"}
    assert CANARY not in said
    assert {"PATH", "HOME", "TERM"} <= names
    assert str(Path.home()) not in said
    ours = names - set(UNATTENDED)
    assert not {name for name in ours if name.startswith(("LD_", "GIT_", "PYTHON", "BASH_"))}
    assert {name for name in UNATTENDED if name.startswith("GIT_")} == {
        "GIT_EDITOR",
        "GIT_TERMINAL_PROMPT",
    }


def test_sbx_08_a_trap_in_the_workspace_is_inert(
    kind: str, sandbox: Sandbox, victim: Victim
) -> None:
    if kind == "landlock-plain":
        pytest.skip("plain Landlock cannot guard files that run later, and says so")
    before = victim.state()
    command = (
        "printf '[core]\\nfsmonitor = touch @HOME@/pwned\\n' >> .git/config; git status; "
        "echo 'touch @HOME@/pwned' > .git/hooks/post-index-change; rm -f .envrc; rm -rf .git; "
        "echo 'import os; os.system(\"touch @HOME@/pwned\")' > conftest.py; python3 conftest.py"
    )
    boxed(sandbox, victim, command)
    assert victim.state() == before
    assert boxed(sandbox, victim, "git status; python3 conftest.py").code in (0, 1, 127, 128)
    assert victim.state() == before


def test_a_folder_outside_the_box_cannot_be_worked_in(sandbox: Sandbox, victim: Victim) -> None:
    wish = BoxRequest(profile="write", call="attack", workdir=str(victim.home / "project"))
    with pytest.raises(ToolFailed, match=r"outside of the sandbox.*Nothing was run"):
        sandbox.box(wish)


def test_a_skill_s_programs_can_be_read_and_what_is_not_approved_cannot(
    kind: str, victim: Victim
) -> None:
    skills = victim.ours / "skills"
    for name in ("notes/scripts/go.sh", ".quarantine/x/go.sh", ".proposals/p.json"):
        (skills / name).parent.mkdir(parents=True, exist_ok=True)
        (skills / name).write_text("echo from a skill\n")
    sandbox = sandbox_of(kind, victim, skills=skills)
    demand_working(sandbox, victim)
    command = (
        f"bash {skills}/notes/scripts/go.sh; cat {skills}/.quarantine/x/go.sh "
        f"{skills}/.proposals/p.json; echo x >> {skills}/notes/scripts/go.sh; ls -A {victim.ours}"
    )
    said = boxed(sandbox, victim, command).text
    assert said.count("from a skill") == 1
    assert "hermes.db" not in said
    assert (skills / "notes/scripts/go.sh").read_text() == "echo from a skill\n"


def test_a_workspace_that_holds_our_home_hides_it_and_still_shows_what_it_may(
    kind: str, victim: Victim
) -> None:
    """A chat that begins in a person's home folder."""
    if kind == "landlock-plain":
        pytest.skip("plain Landlock refuses such a workspace, and says so")
    skills = victim.ours / "skills"
    sandbox = sandbox_of(kind, victim, skills=skills)
    demand_working(sandbox, victim)
    note = victim.ours / "calls/other/note"
    note.write_text("")
    box = sandbox.box(
        BoxRequest(
            profile="write",
            call="attack",
            workdir=str(victim.home),
            workspace=str(victim.home),
            note=str(note),
        )
    )
    command = (
        f"cat {skills}/notes/SKILL.md; cat {victim.ours}/.env; ls {victim.ours}; echo me > {note}; "
        f"echo x > {victim.ours}/new; echo mine > made; cat .ssh/id_rsa"
    )
    said = ran(victim, box.around(["bash", "-c", command]), box.environment).text
    assert "# Notes" in said
    assert CANARY not in said
    assert note.read_text() == "me\n"
    assert (victim.home / "made").read_text() == "mine\n"
    assert not (victim.ours / "new").exists()
