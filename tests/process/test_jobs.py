"""Jobs on the real process: due, run, killed, gone on with, and never twice."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes.core.jobs import job_key
from hermes.testing.model import Asked, Model, Says
from tests.process.gateway import GatewayProcess, gateway

LIMIT_S = 60.0


def reports(asked: Asked) -> Says:
    return Says("All is well.")


async def history(here: GatewayProcess, job: str) -> list[dict[str, Any]]:
    return list(await here.hermes("cron", "history", job, "--json"))


def ends(here: GatewayProcess, job: str) -> int:
    """Return how many runs of a job are over, straight from the store."""
    query = """SELECT count(*) FROM turns t JOIN sessions s ON s.n = t.session
               WHERE s.key = ? AND t.ended_at IS NOT NULL"""
    with closing(sqlite3.connect(here.home / "hermes.db")) as db:
        return int(db.execute(query, (job_key(job),)).fetchone()[0])


async def ended(here: GatewayProcess, job: str, count: int = 1) -> list[dict[str, Any]]:
    """Wait until so many runs of a job are over; return its history, newest first."""
    await here.until(lambda: _is(ends(here, job) >= count), LIMIT_S)
    return await history(here, job)


def kept(here: GatewayProcess, job: str) -> list[str]:
    """Return the answers that were kept on this machine."""
    files = sorted((here.home / "schedules" / job).glob("*.md"))
    return [file.read_text(encoding="utf-8").strip() for file in files]


async def made(here: GatewayProcess, *words: str) -> str:
    job = await here.hermes("cron", "create", *words, "--json")
    assert set(job) == {"id", "name", "schedule", "words", "next"}
    return str(job["id"])


async def test_a_one_shot_runs_once_when_it_is_due_and_its_answer_is_kept(tmp_path: Path) -> None:
    async with Model(reports).up() as model, gateway(tmp_path, model) as here:
        await here.start()
        job = await made(here, "in 2s", "Look at the garden.", "--name", "garden")
        [row] = await ended(here, job)
        assert (row["state"], row["why"]) == ("done", "")
        assert row["due"] <= row["began"] <= row["ended"]
        await here.until(lambda: _is(kept(here, job) == ["All is well."]))
        assert (await history(here, job))[0]["delivered"] is True
        [asked] = [one for one in model.asked if "Look at the garden." in one.said]
        assert "garden" in asked.said
        assert asked.faults == []
        listed = await here.hermes("cron", "list", "--json")
        assert [(each["id"], each["state"]) for each in listed if each["kind"] == "job"] == [
            (job, "done")
        ]
        turn = await here.hermes("turns", "show", row["turn"], "--json")
        assert turn["state"] == "answered"


async def test_each_run_has_a_conversation_of_its_own(tmp_path: Path) -> None:
    async with Model(reports).up() as model, gateway(tmp_path, model) as here:
        await here.start()
        job = await made(here, "every 1h", "Look at the garden.")
        for _ in range(2):
            run = await here.hermes("cron", "run", job, "--wait", "--json")
            assert run["run"]["state"] == "done"
        asked = [one for one in model.asked if "Look at the garden." in one.said]
        assert len(asked) == 2
        assert all("All is well." not in one.everything for one in asked)


async def test_a_killed_run_goes_on_and_counts_as_one(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:

        async def rule(asked: Asked) -> Says:
            if not asked.results:
                return Says(calls=(("terminal", {"command": "echo once >> ran.txt; cat ran.txt"}),))
            await model.hold("answer")
            return Says("It ran.")

        model.rule = rule
        await here.start()
        job = await made(here, "in 1s", "Do it.")
        await model.reached("answer")
        await here.kill()
        model.shut("answer")
        await here.start()
        await model.reached("answer")
        model.open("answer")
        [row] = await ended(here, job)
        assert row["state"] == "done"
        await here.until(lambda: _is(kept(here, job) == ["It ran."]))
        assert (here.home / "workspace" / "ran.txt").read_text(encoding="utf-8") == "once\n"


@pytest.mark.setting("schedules.min_interval_s")
@pytest.mark.setting("schedules.missed")
async def test_what_is_missed_while_no_gateway_runs_is_a_fact_and_the_latest_runs(
    tmp_path: Path,
) -> None:
    settings = {"min_interval_s": 2, "missed": "once"}
    async with (
        Model(reports).up() as model,
        gateway(tmp_path, model, schedules=settings) as here,
    ):
        here.configure()
        job = await made(here, "every 2s", "Look.")
        await asyncio.sleep(7)
        await here.start()
        rows = await ended(here, job)
        skipped = [row for row in rows if row["state"] == "skipped"]
        assert skipped
        assert skipped[-1]["count"] >= 2
        assert "missed while Hermes was not running" in skipped[-1]["why"]
        paused = await here.hermes("cron", "pause", job, "--json")
        assert paused["state"] == "paused"
        dues = [row["due"] for row in await history(here, job)]
        assert len(dues) == len(set(dues)), "no occurrence is there twice"


async def test_a_script_runs_without_a_model_and_its_silence_is_silence(tmp_path: Path) -> None:
    async with Model(reports).up() as model, gateway(tmp_path, model) as here:
        await here.start()
        scripts = here.home / "scripts"
        scripts.mkdir()
        (scripts / "disk.sh").write_text("echo 3 GB are free\n", encoding="utf-8")
        (scripts / "quiet.sh").write_text("true\n", encoding="utf-8")
        (scripts / "broken.sh").write_text("echo no disk; exit 3\n", encoding="utf-8")
        (scripts / "gate.py").write_text("print('{\"wakeAgent\": false}')\n", encoding="utf-8")
        said = await made(here, "in 1s", "--script", "disk.sh", "--no-agent")
        quiet = await made(here, "in 1s", "--script", "quiet.sh", "--no-agent")
        broken = await made(here, "in 1s", "--script", "broken.sh", "--no-agent")
        gated = await made(here, "in 1s", "Say what is new.", "--script", "gate.py")
        assert [row["state"] for row in await ended(here, said)] == ["done"]
        assert [row["state"] for row in await ended(here, quiet)] == ["silent"]
        assert [row["state"] for row in await ended(here, gated)] == ["silent"]
        [failed] = await ended(here, broken)
        assert failed["state"] == "failed"
        assert "no disk" in failed["why"]
        assert "3" in failed["why"]
        await here.until(lambda: _is(kept(here, said) == ["3 GB are free"]))
        assert kept(here, quiet) == kept(here, gated) == []
        assert model.asked == [], "no model was asked"


async def test_a_changed_script_pauses_its_job(tmp_path: Path) -> None:
    async with Model(reports).up() as model, gateway(tmp_path, model) as here:
        here.configure()
        script = here.home / "scripts" / "disk.sh"
        script.parent.mkdir()
        script.write_text("echo as it was\n", encoding="utf-8")
        job = await made(here, "every 10s", "--script", "disk.sh", "--no-agent")
        script.write_text("echo another\n", encoding="utf-8")
        await here.start()

        async def paused() -> bool:
            shown = await here.hermes("cron", "show", job, "--json")
            return shown["state"] == "paused" and "was changed" in shown["why"]

        await here.until(paused, LIMIT_S)
        assert [row["state"] for row in await history(here, job) if row["turn"]] == []


async def _is(holds: bool) -> bool:
    return holds


async def test_a_model_makes_a_job_once_although_it_is_killed_meanwhile(tmp_path: Path) -> None:
    wish = {"action": "create", "schedule": "every weekday at 07:00", "prompt": "Read the news."}
    async with Model().up() as model, gateway(tmp_path, model) as here:

        async def rule(asked: Asked) -> Says:
            if not asked.results:
                return Says(calls=(("cronjob", wish),))
            await model.hold("made")
            return Says(asked.results[-1])

        model.rule = rule
        await here.start()
        said = asyncio.create_task(here.say("Every weekday at seven, read the news.", key="k"))
        await model.reached("made")
        await here.kill()
        await asyncio.wait({said})
        said.exception()  # its connection was cut
        model.shut("made")
        await here.start()
        await model.reached("made")
        model.open("made")
        answer = await here.say("Every weekday at seven, read the news.", key="k")
        assert "every weekday at 07:00" in answer.text
        assert "Next: " in answer.text
        jobs = await here.hermes("cron", "list", "--json")
        assert [job["prompt"] for job in jobs if job["kind"] == "job"] == ["Read the news."]
