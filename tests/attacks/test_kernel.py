"""SBX-2, SBX-3, SBX-4, SBX-5, RES-3: the kernel itself, attacked from inside every kind of box."""

import json
import os
import resource
import shutil
import socket
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from hermes.ports.sandbox import BoxRequest, Sandbox
from hermes.terminals.sandbox.idmap import BOX_USER
from hermes.terminals.sandbox.seccomp import NEWER, TABLES, UNJUDGEABLE
from tests.attacks.machine import KNOBS, machine_state, set_id_files
from tests.attacks.victim import CANARY, Victim, boxed

needs_python = pytest.mark.skipif(
    shutil.which("python3", path="/usr/local/bin:/usr/bin") is None, reason="no python3 for a box"
)
REFUSED, ABSENT = 1, 38  # EPERM, ENOSYS
PATIENCE_S = 60.0

CALLS = """
import ctypes, json, sys
libc = ctypes.CDLL(None, use_errno=True)
answers = {}
for number in json.loads(sys.argv[1]):
    ctypes.set_errno(0)
    done = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(0)] * 6)
    answers[number] = ctypes.get_errno() if done < 0 else 0
print(json.dumps(answers))
"""
SET_ID = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, act):
    try:
        act()
    except OSError:
        pass
open("plain", "w").close()
folder = os.open(".", os.O_RDONLY)
for mode in (0o4755, 0o2755, 0o6755):
    tried("chmod", lambda: os.chmod("plain", mode))
    tried("fchmod", lambda: os.fchmod(os.open("plain", os.O_RDWR), mode))
    tried("fchmodat", lambda: os.chmod("plain", mode, dir_fd=folder))
    tried("fchmodat2", lambda: libc.syscall(452, folder, b"plain", mode, 0))
    tried("open", lambda: os.open(f"o{mode}", os.O_CREAT | os.O_WRONLY, mode))
    tried("creat", lambda: libc.creat(b"c%d" % mode, mode))
    tried("mknod", lambda: os.mknod(f"m{mode}", 0o100000 | mode))
    tried("mkdir", lambda: os.mkdir(f"d{mode}", mode))
    how = ctypes.create_string_buffer(
        (os.O_CREAT | os.O_WRONLY).to_bytes(8, "little") + mode.to_bytes(8, "little") + bytes(8)
    )
    tried("openat2", lambda: libc.syscall(437, folder, b"t%d" % mode, how, 24))
    unnamed = libc.open(b".", 0o20200000 | os.O_WRONLY, mode)
    libc.linkat(-100, b"/proc/self/fd/%d" % unnamed, -100, b"l%d" % mode, 0x400)
print("tried them all")
"""
SOCKETS = """
import socket, sys
def tried(name, act):
    try:
        act()
        print("REACHED", name)
    except OSError as refused:
        print("refused", name, refused)
def connect():
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.connect("ear")
tried("a socket of the workspace", connect)
tried("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
tried("audit", lambda: socket.socket(16, socket.SOCK_RAW, 9))
tried("netfilter", lambda: socket.socket(16, socket.SOCK_RAW, 12))
tried("packet", lambda: socket.socket(17, socket.SOCK_RAW, 3))
tried("sctp", lambda: socket.socket(2, socket.SOCK_STREAM, 132))
tried("bluetooth", lambda: socket.socket(31, socket.SOCK_RAW, 0))
tried("crypto", lambda: socket.socket(38, socket.SOCK_SEQPACKET, 0))
tried("can", lambda: socket.socket(29, socket.SOCK_RAW, 1))
"""
FORGED_INPUT = """
import fcntl, os, pty
here, there = pty.openpty()
for name, request, text in (("TIOCSTI", 0x5412, b"x"), ("TIOCLINUX", 0x541C, b"\\x06")):
    try:
        fcntl.ioctl(there, request, text)
        print("REACHED", name)
    except OSError as refused:
        print("refused", name, refused)
"""


def test_sbx_02_no_knob_of_the_machine_can_be_turned(sandbox: Sandbox, victim: Victim) -> None:
    before = machine_state()
    each = [f"echo 1 > /proc/sys/{knob} && echo REACHED {knob}" for knob in KNOBS]
    others = "/proc/sysrq-trigger /proc/irq/default_smp_affinity /sys/kernel/uevent_helper"
    each += [f"for f in {others} /sys/fs/cgroup/*; do echo h > $f && echo REACHED $f; done"]
    each += ["find /proc/sys /proc/irq /proc/bus -type f -writable 2>/dev/null | head -3 >&2"]
    said = boxed(sandbox, victim, "\n".join(each)).text
    assert "REACHED" not in said
    assert machine_state() == before


@needs_python
def test_sbx_03_the_filter_refuses_what_no_command_needs(sandbox: Sandbox, victim: Victim) -> None:
    (victim.workspace / "calls.py").write_text(CALLS)
    table = TABLES[os.uname().machine]  # type: ignore[index]
    wanted = {str(number): REFUSED for number in (*table.refused, *NEWER)}
    wanted |= {str(number): ABSENT for number in UNJUDGEABLE}
    numbers = json.dumps([int(number) for number in wanted])
    said = boxed(sandbox, victim, f"python3 calls.py '{numbers}'").text
    assert json.loads(said) == wanted


@needs_python
def test_sbx_03_no_program_is_left_with_the_rights_of_its_owner(
    sandbox: Sandbox, victim: Victim
) -> None:
    (victim.workspace / "set_id.py").write_text(SET_ID)
    command = "umask 0; python3 set_id.py; install -m 4755 /bin/true suid; cp -p /bin/su su; true"
    assert "tried them all" in boxed(sandbox, victim, command).text
    assert set_id_files(victim.workspace) == {}


def test_sbx_03_what_a_box_makes_belongs_to_whom_the_workspace_belongs(
    sandbox: Sandbox, victim: Victim
) -> None:
    command = "mkdir made; echo mine > made/file; chmod 600 made/file; echo more >> README.md"
    assert boxed(sandbox, victim, command).code == 0
    for name in ("made", "made/file", "README.md"):
        about = (victim.workspace / name).stat()
        assert (about.st_uid, about.st_gid) == (os.geteuid(), os.getegid())
    assert (victim.workspace / "README.md").read_text() == "# Read me\nmore\n"
    assert boxed(sandbox, victim, "cat made/file; rm -r made && echo gone").text == "mine\ngone\n"


def user_of(mark: str) -> int | None:
    """Return the user, on this machine, of a process with that word on its command line."""
    for place in Path("/proc").iterdir():
        try:
            line = (place / "cmdline").read_bytes() if place.name.isdigit() else b""
            if line.startswith(b"sleep\0") and mark.encode() in line:
                status = (place / "status").read_text()
                return int(status.split("Uid:\t")[1].split()[0])
        except OSError:
            continue
    return None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another user to become")
def test_sbx_03_root_is_another_user_in_the_box(
    kind: str, sandbox: Sandbox, victim: Victim
) -> None:
    if kind not in ("bubblewrap", "landlock"):
        pytest.skip("this kind keeps the user, and says so")
    box = sandbox.box(BoxRequest(profile="write", call="user", workdir=str(victim.workspace)))
    mark = f"60.{os.getpid()}"
    with subprocess.Popen(box.around(["sleep", mark]), env=box.environment) as running:
        until = time.monotonic() + PATIENCE_S
        while (user := user_of(mark)) is None and time.monotonic() < until:
            time.sleep(0.02)
        running.kill()
    assert user == BOX_USER
    assert boxed(sandbox, victim, "[ -O /usr ] || whoami").text == "agent\n"


@needs_python
def test_sbx_05_no_socket_but_its_own_network_can_be_made(
    sandbox: Sandbox, victim: Victim, monkeypatch: pytest.MonkeyPatch
) -> None:
    (victim.workspace / "sockets.py").write_text(SOCKETS)
    monkeypatch.chdir(victim.workspace)
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as ear:
        ear.bind("ear")
        ear.listen()
        said = boxed(sandbox, victim, "python3 sockets.py").text
    assert "refused a socket of the workspace" in said
    assert "REACHED" not in said


@needs_python
def test_sbx_04_input_of_a_terminal_cannot_be_forged(sandbox: Sandbox, victim: Victim) -> None:
    (victim.workspace / "forge.py").write_text(FORGED_INPUT)
    said = boxed(sandbox, victim, "python3 forge.py").text
    assert "REACHED" not in said


def test_sbx_04_keys_of_the_session_are_out_of_sight(
    kind: str, sandbox: Sandbox, victim: Victim
) -> None:
    if kind == "landlock-plain":
        pytest.skip("plain Landlock shows /proc of the machine, and says so")
    said = boxed(sandbox, victim, "cat /proc/keys /proc/key-users /proc/kcore | wc -c").text
    assert said.splitlines()[-1] == "0"


def test_sbx_03_devices_are_a_short_list(kind: str, sandbox: Sandbox, victim: Victim) -> None:
    if kind == "landlock-plain":
        pytest.skip("plain Landlock lets names be seen, and says so")
    said = boxed(sandbox, victim, "ls /dev /dev/pts; ls /sys /sys/devices").text
    few = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd", "core"}
    found = set(said.replace(":", " ").split())
    streams = {"stdin", "stdout", "stderr"}
    assert found <= few | streams | {
        "/dev",
        "/dev/pts",
        "/sys",
        "devices",
        "/sys/devices",
        "system",
    }


def test_sbx_04_hidden_files_do_not_even_have_a_name(
    kind: str, sandbox: Sandbox, victim: Victim
) -> None:
    if kind == "landlock-plain":
        pytest.skip("plain Landlock cannot hide names, and says so")
    places = (".ssh/id_rsa", ".bashrc", "project/app.py", ".hermes/hermes.db", ".hermes/.env")
    each = [f"stat -c 'REACHED %n %s %y' @HOME@/{place}" for place in places]
    each += ["stat -c 'REACHED %n %s' /root/.bashrc /var/log /home/*; ls -a @HOME@ @HOME@/.hermes"]
    said = boxed(sandbox, victim, "\n".join(each)).text
    assert "REACHED" not in said
    assert "id_rsa" not in said.replace("id_rsa': No such file", "")
    assert "hermes.db" not in said.replace("hermes.db': No such file", "")


def test_sec_06_a_crash_starts_no_program_of_the_machine(sandbox: Sandbox, victim: Victim) -> None:
    """At a limit of 0 the kernel still starts a handler that core_pattern names; at 1 it does not,
    so nobody inside may change it."""
    command = (
        "grep core /proc/self/limits; ulimit -c 0; ulimit -S -c 0; grep core /proc/self/limits"
    )
    said = [line for line in boxed(sandbox, victim, command).text.splitlines() if "Max" in line]
    most = "0" if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0 else "1"
    assert [line.split()[4:6] for line in said] == [[most, most]] * 2


def test_res_03_shared_memory_is_limited_too(kind: str, sandbox: Sandbox, victim: Victim) -> None:
    if kind == "landlock-plain":
        pytest.skip("plain Landlock shows no /dev/shm at all")
    said = boxed(sandbox, victim, "df -k --output=size /dev/shm | tail -1; touch /dev/x").text
    assert int(said.split()[0]) <= 512 * 1024
    assert "Read-only file system" in said


PRIVATE = (".env", "deep/keys", "deep/er/secret.txt")


@pytest.mark.parametrize("profile", ["read", "write"])
def test_sbx_03_private_files_of_the_workspace_can_be_covered(
    kind: str, sandbox: Sandbox, victim: Victim, profile: str
) -> None:
    if (kind, profile) == ("landlock-plain", "write"):
        pytest.skip("plain Landlock refuses such a box, and says so")
    for name in (".env", "deep/keys/one", "deep/er/secret.txt"):
        (victim.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (victim.workspace / name).write_text(f"{CANARY}\n")
    (victim.workspace / "deep/er/open.txt").write_text("open\n")
    (victim.workspace / "link").symlink_to(".env")
    command = (
        "grep -rh '' . ; find . -exec cat {} + ; cat .env link deep/keys/* deep/er/secret.txt; "
        "mv .env moved; cat moved; ln .env second; cat second; cat deep/er/open.txt README.md"
    )
    said = boxed(sandbox, victim, command, profile, (*PRIVATE, "link", "nothing")).text  # type: ignore[arg-type]
    assert CANARY not in said
    assert "open\n# Read me\n" in said
    assert (victim.workspace / ".env").read_text() == f"{CANARY}\n"
