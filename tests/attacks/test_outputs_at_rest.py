"""SEC-9: when a command is over, its output on the disk holds no secret."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.core.ids import CallId, SessionKey
from hermes.ports.terminal import CommandLaunch
from hermes.secrets.files import clean_file
from hermes.secrets.live import Sink
from hermes.terminals.local import LocalTerminal
from hermes.terminals.register import CommandLimits

SECRET = "tok-9f3K_xQ7/vLm2+ZpR8wYb4"


def limits(values: list[str]) -> CommandLimits:
    sink = Sink(values)
    return CommandLimits(grace_s=0.4, clean=lambda output: clean_file(output, sink))


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[LocalTerminal]:
    made = LocalTerminal(tmp_path / "calls", environ=os.environ, limits=limits([SECRET]))
    yield made
    await made.close()


def launch(tmp_path: Path, command: str, *, background: bool = False) -> CommandLaunch:
    return CommandLaunch(
        id=CallId("c"),
        session=SessionKey("s"),
        command=command,
        workdir=str(tmp_path),
        timeout_s=None if background else 30.0,
        background=background,
    )


def kept(tmp_path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in (tmp_path / "calls" / "c").glob("output*"))


async def test_sec_09_the_output_of_a_call_is_cleaned_when_it_ends(
    tmp_path: Path, terminal: LocalTerminal
) -> None:
    (tmp_path / "f").write_bytes(b"\xff before\n" + SECRET.encode() + b"\nafter \xc3\xa9\n")
    await terminal.launch(launch(tmp_path, "cat f; base64 f"))
    seen = await terminal.wait(CallId("c"), 30.0)
    raw = kept(tmp_path)
    assert SECRET.encode() not in raw
    assert raw.startswith("\udcff before\n•••\nafter é\n".encode("utf-8", "surrogateescape"))
    assert seen.size == len(raw)
    assert (tmp_path / "calls" / "c" / "output").stat().st_mode & 0o777 == 0o600


async def test_sec_09_a_background_command_is_cleaned_by_the_first_who_looks(
    tmp_path: Path, terminal: LocalTerminal
) -> None:
    (tmp_path / "f").write_text(SECRET * 3)
    await terminal.launch(launch(tmp_path, "cat f", background=True))
    await terminal.wait(CallId("c"), 30.0)
    await terminal.listed(SessionKey("s"))
    assert SECRET.encode() not in kept(tmp_path)


async def test_sec_09_what_a_killed_gateway_left_is_cleaned_by_the_next_sweep(
    tmp_path: Path,
) -> None:
    (tmp_path / "f").write_text(f"a {SECRET} b\n")
    first = LocalTerminal(tmp_path / "calls", environ=os.environ, limits=limits([]))
    await first.launch(launch(tmp_path, "cat f"))
    await first.wait(CallId("c"), 30.0)
    await first.close()
    (tmp_path / "calls" / "c" / "clean").unlink()  # it died before that
    assert SECRET.encode() in kept(tmp_path)
    second = LocalTerminal(tmp_path / "calls", environ=os.environ, limits=limits([SECRET]))
    await second.sweep()
    await second.close()
    assert kept(tmp_path) == "a ••• b\n".encode()


async def test_sec_09_output_without_secrets_stays_as_it_was(
    tmp_path: Path, terminal: LocalTerminal
) -> None:
    await terminal.launch(launch(tmp_path, "head -c 300000 /dev/urandom > f; cat f"))
    await terminal.wait(CallId("c"), 30.0)
    assert kept(tmp_path) == (tmp_path / "f").read_bytes()
