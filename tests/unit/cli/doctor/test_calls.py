"""What the doctor makes of the date that a server says, and of servers that say none."""

import asyncio
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from hermes.cli.doctor.calls import clock
from hermes.cli.doctor.check import DoctorCheck, Patient
from hermes.settings import ModelSettings, Settings
from tests.unit.providers.servers import DROP, HANG, Play, Server, head, plain


async def found(home: Path, play: Play) -> DoctorCheck:
    async with Server([play]) as server:
        patient = Patient(
            home=home,
            settings=Settings(model=ModelSettings(provider="custom", base_url=server.url)),
            problems=(),
            environ={},
            now=time.time(),
        )
        (check,) = await asyncio.to_thread(lambda: list(clock(patient)))
    assert [taken.line for taken in server.taken] == ["GET /v1/models HTTP/1.1"]
    return check


@pytest.mark.parametrize("status", [200, 307, 401, 500])
async def test_the_date_of_any_answer_is_compared(tmp_path: Path, status: int) -> None:
    now = plain(b"<html>", status=status, date=formatdate())
    check = await found(tmp_path, [now])
    assert (check.ok, "nobody" in check.detail) == (True, False)
    ago = plain(b"<html>", status=status, date=formatdate(time.time() - 3600))
    check = await found(tmp_path, [ago])
    assert (check.ok, "s ahead of" in check.detail) == (False, True)


async def test_the_date_of_a_huge_listing_is_known_without_reading_it(tmp_path: Path) -> None:
    huge = head(content_length=str(10**12), date=formatdate(time.time() + 3600))
    assert "s behind" in (await found(tmp_path, [huge, HANG])).detail


@pytest.mark.parametrize(
    "play",
    [
        [plain(b"{}")],
        [plain(b"{}", date="soon")],
        [b"SSH-2.0-nothing\r\n\r\n", DROP],
        [DROP],
    ],
)
async def test_without_a_date_nobody_is_compared_with(tmp_path: Path, play: Play) -> None:
    check = await found(tmp_path, play)
    assert check.ok
    assert check.detail.endswith("is plausible (not compared with a server)")
