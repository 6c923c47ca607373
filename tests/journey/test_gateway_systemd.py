"""The same with the real systemd: a user manager in its own namespaces.

It needs root, systemd's programs and a control group that can be written to; elsewhere it is
skipped. Nothing of the machine's own systemd is touched.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from hermes.cli.gateway.service.lock import parse_note

DOUBLES = Path(__file__).parents[1] / "doubles"
SRC = Path(__file__).parents[2] / "src"
MANAGER = shutil.which("systemd", path="/usr/lib/systemd:/lib/systemd")
BOOT = f"""
mount --make-rprivate / && mount -t cgroup2 none /sys/fs/cgroup && mount -t tmpfs none /run &&
mkdir -p /run/systemd/system /run/user/0 && chmod 700 /run/user/0 || exit 1
{MANAGER} --user --log-target=null &
wait
"""
ENTER = 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"'
UNITS = ".config/systemd/user"
PATIENCE_S = 60.0
LIMIT = """
import os, sys
sys.path.insert(0, sys.argv[1])
from hermes.cli.gateway.service.limit import stop_limit
from hermes.cli.gateway.service.notify import notifier, watchdog_interval
me = os.getpid()
text = f"{stop_limit(os.environ, me)} {watchdog_interval(os.environ, me)}"
notifier(os.environ).ready(text)
import time; time.sleep(60)
"""


@dataclass
class Machine:
    """A namespace in which systemd runs a person's services."""

    folder: Path
    first: int  # the process that holds the namespaces

    @property
    def home(self) -> Path:
        return self.folder / "ho me %h"

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        environ = {
            "HOME": str(self.folder),
            "HERMES_HOME": str(self.home),
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "PYTHONPATH": str(SRC),
            "XDG_RUNTIME_DIR": "/run/user/0",
            "TERM": "dumb",
        }
        enter = ["nsenter", "--target", str(self.first), "--mount", "--pid", "--cgroup", "--"]
        command = [*enter, "env", "-i", *(f"{k}={v}" for k, v in environ.items()), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    def do(self, *words: str) -> str:
        """Run a service command that must succeed."""
        done = self.run(sys.executable, "-P", str(DOUBLES / "service_program.py"), *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def unit(self) -> str:
        return next(file.name for file in self.folder.glob(f"{UNITS}/hermes-gateway-*.service"))

    def show(self, name: str, unit: str = "") -> str:
        words = (f"--property={name}", "--value", unit or self.unit())
        shown = self.run("systemctl", "--user", "show", *words)
        return shown.stdout.strip()

    def note(self) -> tuple[int, float]:
        noted = parse_note((self.home / "gateway.lock").read_bytes())
        return (noted.pid, noted.started_at) if noted else (0, 0.0)

    def until(self, name: str, value: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while self.show(name) != value:
            assert time.monotonic() < deadline, f"{name} is {self.show(name)}"
            time.sleep(0.1)


def control_group() -> Path | None:
    """Return a new cgroup below our own, if the unified hierarchy is writable; otherwise None."""
    mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    root = next((Path(fields[1]) for fields in mounts if fields[2] == "cgroup2"), None)
    own = Path("/proc/self/cgroup").read_text().rpartition("0::/")[2].strip()
    made = root / own / f"hermes-test-{os.getpid()}" if root else None
    try:
        if made:
            made.mkdir()
    except OSError:
        return None
    return made


def remove(group: Path) -> None:
    for folder, _folders, _files in os.walk(group, topdown=False):
        with suppress(OSError):
            Path(folder).rmdir()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    tools = all(shutil.which(name) for name in ("systemctl", "unshare", "nsenter"))
    if sys.platform != "linux" or os.getuid() != 0 or MANAGER is None or not tools:
        pytest.skip("needs Linux, root and systemd's programs")
    group = control_group()
    if group is None:
        pytest.skip("needs a control group that can be written to")
    apart = ["unshare", "--cgroup", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    environ = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": "/run/user/0", "PATH": "/usr/bin:/bin"}
    command = ["sh", "-c", ENTER, "sh", str(group), *apart, "sh", "-c", BOOT]
    with subprocess.Popen(command, env=environ, start_new_session=True) as outer:
        try:
            yield booted(tmp_path, outer)
        finally:
            outer.kill()
            outer.wait()
            deadline = time.monotonic() + PATIENCE_S
            while group.exists() and time.monotonic() < deadline:
                remove(group)
                time.sleep(0.05)


def booted(folder: Path, outer: "subprocess.Popen[bytes]") -> Machine:
    children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and outer.poll() is None:
        first = children.read_text().split()
        if first:
            machine = Machine(folder, int(first[0]))
            asked = machine.run("systemctl", "--user", "is-system-running")
            if asked.stdout.strip() in ("running", "degraded"):
                return machine
        time.sleep(0.1)
    pytest.skip("systemd's user manager does not start here")


@pytest.mark.slow
def test_c08_systemd_keeps_the_gateway_and_leaves_detached_commands_alone(machine: Machine) -> None:
    detached = machine.folder / "detached"
    machine.run("systemctl", "--user", "set-environment", f"FAKE_DETACHED={detached}")
    machine.do("install")
    first = machine.note()
    assert machine.show("MainPID") == str(first[0])
    assert machine.show("WorkingDirectory") == str(machine.home)

    machine.do("restart")
    second = machine.note()
    assert (second[0], second[1] > first[1]) == (first[0], True)
    assert machine.show("NRestarts") == "0"

    machine.run("kill", "-KILL", str(second[0]))
    machine.until("NRestarts", "1")
    machine.until("ActiveState", "active")
    assert machine.note()[0] != second[0]

    machine.do("stop")
    assert machine.show("ActiveState") == "inactive"
    assert machine.run("kill", "-0", detached.read_text()).returncode == 0
    assert "kept by systemd" in machine.do("start")
    unit = machine.unit()
    machine.do("uninstall")
    assert machine.show("LoadState", unit) == "not-found"
    assert list(machine.folder.glob(f"{UNITS}/**/hermes*")) == []


@pytest.mark.slow
def test_c08_the_gateway_learns_its_limits_from_systemd(machine: Machine) -> None:
    program = machine.folder / "limit.py"
    program.write_text(LIMIT)
    unit = machine.folder / UNITS / "limit.service"
    unit.parent.mkdir(parents=True)
    unit.write_text(
        "[Service]\nType=notify\nTimeoutStopSec=75\nWatchdogSec=30\nKillSignal=SIGKILL\n"
        f"ExecStart={sys.executable} -I {program} {SRC}\n"
    )
    machine.run("systemctl", "--user", "daemon-reload")
    started = machine.run("systemctl", "--user", "start", "limit")
    assert started.returncode == 0, started.stderr
    assert machine.show("StatusText", "limit") == "75.0 15.0"
