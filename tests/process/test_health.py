"""The real gateway when the store fails or its lease was taken over: 503, and why."""

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes.gateway.process_state import FREE_BYTES_MIN, disk_problem
from hermes.testing.model import Model
from tests.contract.surgery import run
from tests.process.gateway import GatewayProcess, gateway


@contextmanager
def disk(folder: Path, *how: str) -> Iterator[None]:
    """Mount a small file system for the test, if that is permitted."""
    folder.mkdir(exist_ok=True)
    command = ["mount", *how, str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


async def until_health(here: GatewayProcess, status: int) -> None:
    async def says() -> bool:
        return await here.health() == status

    await here.until(says)


async def test_a_full_disk_is_no_good_health_and_status_says_why(tmp_path: Path) -> None:
    with disk(tmp_path / "home", "-t", "tmpfs", "-o", "size=8m", "tmpfs"):
        async with Model().up() as model, gateway(tmp_path, model) as here:
            await here.start()
            free = os.statvfs(here.home)
            ballast = here.home / "ballast"
            ballast.write_bytes(bytes(free.f_bfree * free.f_frsize - FREE_BYTES_MIN // 2))
            await until_health(here, 503)
            status = await here.hermes("gateway", "status", "--json")
            assert status["state"] == "unwritable"
            assert "the disk is full" in status["problem"]
            told = await here.hermes("gateway", "status")
            assert "Nothing can be stored" in told
            ballast.unlink()
            await until_health(here, 200)
            assert (await here.say("hello")).text == "You said: hello"
            status = await here.hermes("gateway", "status", "--json")
            assert (status["state"], status["problem"]) == ("ready", "")


def test_a_read_only_disk_and_one_that_is_gone_are_problems(tmp_path: Path) -> None:
    assert disk_problem(tmp_path) == ""
    assert "cannot be used" in disk_problem(tmp_path / "gone")
    with disk(tmp_path / "small", "-t", "tmpfs", "-o", "ro,size=8m", "tmpfs"):
        assert "read-only" in disk_problem(tmp_path / "small")


async def test_a_node_that_was_taken_for_dead_says_503_until_it_ends(tmp_path: Path) -> None:
    """The node is frozen for longer than its lease: its sessions belong to other nodes now."""
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        assert (await here.say("hello")).status == 200
        here.signal(signal.SIGSTOP)
        run(str(here.home / "hermes.db"), "UPDATE nodes SET buried = 1")
        here.signal(signal.SIGCONT)
        answers = await asyncio.gather(
            here.say("new", "other"), here.say("new", "third", key="k"), return_exceptions=True
        )
        for answered in answers:
            assert not isinstance(answered, BaseException), answered
            assert answered.status == 503
            assert answered.body["error"]["code"] == "gateway_stopping"
        assert await here.ended() != 0
        log = (here.home / "logs" / "hermes.log").read_text(encoding="utf-8")
        assert not re.search("could not be answered", log)


async def test_a_config_file_that_is_deleted_under_a_running_gateway_is_logged(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        (here.home / "config.yaml").unlink()

        async def logged() -> bool:
            await here.say("hello")
            return "config.yaml is missing" in here.output()

        await here.until(logged)
        assert await here.health() == 200
