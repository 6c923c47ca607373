"""What a supervisor hears from us, over a real socket."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.cli.gateway.service.notify import Notify, notifier, supervised, watchdog_interval

PID = 4242


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(str(tmp_path / "notify"))
        bound.settimeout(5)
        yield bound


def test_each_word_is_one_datagram(ear: socket.socket) -> None:
    supervisor = notifier({"NOTIFY_SOCKET": ear.getsockname()})
    assert supervisor.ready("2 channels\nare up")
    assert ear.recv(4096) == b"READY=1\nSTATUS=2 channels are up"
    assert supervisor.watchdog()
    assert ear.recv(4096) == b"WATCHDOG=1"
    assert supervisor.status("x" * 1000)
    assert ear.recv(4096) == b"STATUS=" + b"x" * 200
    assert supervisor.stopping("3 turns")
    assert ear.recv(4096) == b"STOPPING=1\nSTATUS=3 turns"
    before = time.monotonic_ns() // 1000
    assert supervisor.reloading()
    first, _, at = ear.recv(4096).partition(b"\nMONOTONIC_USEC=")
    assert first == b"RELOADING=1"
    assert before <= int(at) <= time.monotonic_ns() // 1000


@pytest.mark.skipif(sys.platform != "linux", reason="abstract names are Linux's")
def test_an_abstract_name_is_understood() -> None:
    name = f"hermes-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(f"\0{name}")
        bound.settimeout(5)
        assert notifier({"NOTIFY_SOCKET": f"@{name}"}).ready()
        assert bound.recv(4096) == b"READY=1"


@pytest.mark.parametrize("environ", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:1"}])
def test_without_a_supervisor_nothing_is_said(environ: dict[str, str]) -> None:
    assert not notifier(environ).ready()


def test_a_supervisor_that_is_gone_or_deaf_stops_nobody(ear: socket.socket, tmp_path: Path) -> None:
    assert not Notify(str(tmp_path / "nobody")).ready()
    deaf = notifier({"NOTIFY_SOCKET": ear.getsockname()})
    began = time.monotonic()
    while deaf.watchdog():  # until nothing more fits into its queue
        assert time.monotonic() - began < 10
    assert not deaf.status("")


def test_the_watchdog_is_fed_twice_in_its_time() -> None:
    assert watchdog_interval({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "4242"}, PID) == 15.0
    assert watchdog_interval({"WATCHDOG_USEC": "30000000"}, PID) == 15.0
    assert watchdog_interval({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, PID) is None
    for nonsense in ("", "0", "-1", "soon"):
        assert watchdog_interval({"WATCHDOG_USEC": nonsense}, PID) is None


@pytest.mark.parametrize("name", ["NOTIFY_SOCKET", "INVOCATION_ID", "HERMES_STOP_LIMIT_S"])
def test_who_says_how_long_it_waits_is_asked(name: str) -> None:
    assert supervised({name: "1", "PATH": "/bin"})
    assert not supervised({"PATH": "/bin"})
