"""Each setting of schedules, seen from outside: a command or a gateway behaves otherwise."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from hermes.testing.model import Asked, Model, Says
from tests.process.gateway import Home, gateway
from tests.process.test_jobs import ended, ends, made

LIMIT_S = 60.0


def home(folder: Path, **sections: Any) -> Home:
    section = {"provider": "custom", "base_url": "http://127.0.0.1:9/v1", "name": "none"}
    here = Home(folder, {"model": {**section, "api_key": "none"}, **sections})
    here.configure()
    return here


@pytest.mark.setting("timezone")
async def test_a_job_is_made_in_the_zone_of_the_settings_and_keeps_it(tmp_path: Path) -> None:
    here = home(tmp_path, timezone="Europe/Paris")
    job = await made_in(here, "every day at 07:00", "Look.")
    assert job["words"] == "every day at 07:00 (Europe/Paris)"
    assert job["next"][0].endswith(("T07:00:00+01:00", "T07:00:00+02:00"))
    here.settings["timezone"] = "Asia/Tokyo"
    here.configure()
    assert (await here.hermes("cron", "show", job["id"], "--json"))["tz"] == "Europe/Paris"
    here.settings["timezone"] = "Mars/Base"
    here.configure()
    assert await here.hermes("cron", "list") == "", "a zone that is none is refused"


@pytest.mark.setting("schedules.keep_runs")
@pytest.mark.setting("schedules.late_max")
async def test_what_was_missed_longer_ago_than_that_never_runs(tmp_path: Path) -> None:
    settings = {"late_max": "70s", "min_interval_s": 30}
    async with Model().up() as model, gateway(tmp_path, model, schedules=settings) as here:
        here.configure()
        job = await made(here, "every 30s", "Look.", "--missed", "once")
        move_back(here.home, job, 200.0)
        await here.start()
        rows: list[dict[str, Any]] = []

        async def too_old() -> bool:
            rows[:] = await here.hermes("cron", "history", job, "--json")
            old = [row for row in rows if "missed more than 1 minute 10 seconds ago" in row["why"]]
            return len(old) == 1 and len(rows) > 1

        await here.until(too_old, LIMIT_S)
        here.configure(schedules={"keep_runs": 1})
        assert len(await here.hermes("cron", "history", job, "--json", "-n", "50")) == 1


@pytest.mark.setting("schedules.enabled")
async def test_without_schedules_nothing_runs_and_no_model_is_told_of_them(
    tmp_path: Path,
) -> None:
    async with (
        Model().up() as model,
        gateway(tmp_path, model, schedules={"enabled": False}) as here,
    ):
        here.configure()
        job = await made(here, "in 1s", "Look.")
        await here.start()
        await here.say("hello")
        assert "cronjob" not in model.asked[-1].tools
        await asyncio.sleep(1.5)
        assert ends(here, job) == 0


@pytest.mark.setting("schedules.max_parallel")
async def test_no_more_jobs_run_at_once_than_that(tmp_path: Path) -> None:
    async with (
        Model().up() as model,
        gateway(tmp_path, model, schedules={"max_parallel": 1}) as here,
    ):
        running, most = 0, 0

        async def rule(_asked: Asked) -> Says:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.2)
            running -= 1
            return Says("[SILENT]")

        model.rule = rule
        here.configure()
        jobs = [await made(here, "in 1s", f"Look at {n}.") for n in range(3)]
        await here.start()
        for job in jobs:
            await ended(here, job)
        assert most == 1


@pytest.mark.setting("schedules.pause_after_failures")
async def test_after_so_many_failures_a_job_is_paused(tmp_path: Path) -> None:
    settings = {"pause_after_failures": 2}
    async with Model().up() as model, gateway(tmp_path, model, schedules=settings) as here:
        here.configure()
        scripts = here.home / "scripts"
        scripts.mkdir()
        (scripts / "broken.sh").write_text("exit 1\n", encoding="utf-8")
        job = await made(here, "every 1h", "--script", "broken.sh", "--no-agent")
        await here.start()
        for _ in range(2):
            assert await here.hermes("cron", "run", job, "--wait")

        async def paused() -> bool:
            return (await here.hermes("cron", "show", job, "--json"))["state"] == "paused"

        await here.until(paused, LIMIT_S)


@pytest.mark.setting("heartbeat.every")
@pytest.mark.setting("heartbeat.hours")
async def test_the_heartbeat_reads_its_file_within_its_hours(tmp_path: Path) -> None:
    async with (
        Model(lambda _asked: Says("[SILENT]")).up() as model,
        gateway(tmp_path, model, heartbeat={"every": "2s", "hours": "00:00-24:00"}) as here,
    ):
        here.configure()
        file = here.home / "HEARTBEAT.md"
        file.write_text("", encoding="utf-8")
        await here.start()
        rows = await until_history(here, "heartbeat")
        assert {row["why"] for row in rows} == {"HEARTBEAT.md is empty"}
        file.write_text("Water the garden.", encoding="utf-8")
        await here.until(lambda: _is(ends(here, "heartbeat") >= 1), LIMIT_S)
        assert "Water the garden." in model.asked[0].said
        await here.stop()
        here.configure(heartbeat={"every": 0})
        await here.start()
        listed = await here.hermes("cron", "list", "--json")
        assert "heartbeat" not in [each["id"] for each in listed]


async def made_in(here: Home, *words: str) -> Any:
    return await here.hermes("cron", "create", *words, "--json")


async def until_history(here: Any, job: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    async def some() -> bool:
        nonlocal rows
        rows = await here.hermes("cron", "history", job, "--json")
        return bool(rows)

    await here.until(some, LIMIT_S)
    return rows


def move_back(folder: Path, job: str, seconds: float) -> None:
    """Make a job as old as if no gateway had run for that long."""
    with sqlite3.connect(folder / "hermes.db") as db:
        [(body,)] = db.execute("SELECT body FROM jobs WHERE id = ?", (job,)).fetchall()
        row = json.loads(body)
        row["job"]["schedule"]["anchor"] -= seconds
        row["cursor"] -= seconds
        row["due_at"] = row["cursor"] + row["job"]["schedule"]["step"]
        values = (row["cursor"], row["due_at"], json.dumps(row).encode(), job)
        db.execute("UPDATE jobs SET cursor = ?, due_at = ?, body = ? WHERE id = ?", values)
    db.close()


async def _is(holds: bool) -> bool:
    return holds
