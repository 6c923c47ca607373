"""Jobs on nights when clocks change, and across steps of the clock: real processes, set clocks."""

from pathlib import Path
from typing import Any

from hermes.testing.model import Asked, Model, Says
from tests.process.faked_clock import FakedClock, faked_clock
from tests.process.gateway import GatewayProcess, gateway
from tests.process.jobs import ask, history, instant, make, runs, until_run

DAY = 86_400.0
NEAR_S = 10.0
PARIS = "Europe/Paris"


def quiet(_asked: Asked) -> Says:
    return Says("Done.")


async def poke(here: GatewayProcess, clock: FakedClock, job: str) -> None:
    """Change a job until the gateway has seen the new time, so that the scheduler looks now and not
    within half a minute."""

    async def seen() -> bool:
        changed = await ask(here, "PATCH", f"/v1/jobs/{job}", {"name": "poked"})
        assert changed.status_code == 200, changed.text
        return abs(instant(changed.json()["changed_at"]) - clock.now()) < NEAR_S

    await here.until(seen)


def dues(rows: list[Any]) -> list[float]:
    return [instant(row["due"]) for row in rows if row["due"]]


async def test_a05_a_time_in_the_gap_runs_at_its_end_once(tmp_path: Path) -> None:
    clock = faked_clock(tmp_path)
    clock.set("2027-03-28T01:59:40+01:00")
    async with Model(rule=quiet).up() as model, gateway(tmp_path, model) as here:
        here.extra = clock.environ
        await here.start()
        job = await make(here, "30 2 * * *", tz=PARIS)
        clock.set("2027-03-28T01:59:59+01:00")
        await poke(here, clock, job)
        (run,) = await until_run(here, job)
        assert instant(run["due"]) == instant("2027-03-28T03:00:00+02:00")
        following = await here.get(f"/v1/jobs/{job}")
        assert instant(following["next"][0]) == instant("2027-03-29T02:30:00+02:00")


async def test_a05_an_hour_that_comes_twice_runs_a_daily_job_once(tmp_path: Path) -> None:
    clock = faked_clock(tmp_path)
    clock.set("2026-10-25T02:29:30+02:00")
    async with Model(rule=quiet).up() as model, gateway(tmp_path, model) as here:
        here.extra = clock.environ
        await here.start()
        daily = await make(here, "30 2 * * *", tz=PARIS)
        often = await make(here, "*/30 * * * *", tz=PARIS)
        clock.set("2026-10-25T02:29:59+02:00")
        await poke(here, clock, daily)
        await until_run(here, daily)
        await until_run(here, often)
        for second, count in (("02:00:00", 2), ("02:30:00", 3)):
            clock.set(instant(f"2026-10-25T{second}+01:00") - 1.0)
            await poke(here, clock, daily)
            await until_run(here, often, count)
        assert dues(await runs(here, often)) == [
            instant(f"2026-10-25T{time}") for time in ("02:30+02:00", "02:00+01:00", "02:30+01:00")
        ]
        assert dues(await runs(here, daily)) == [instant("2026-10-25T02:30+02:00")]


async def test_a06_after_a_clock_that_ran_ahead_and_came_back_nothing_is_lost_or_doubled(
    tmp_path: Path,
) -> None:
    clock = faked_clock(tmp_path)
    noon = instant("2027-01-10T12:00:00+00:00")
    clock.set(noon - 30.0)
    async with Model(rule=quiet).up() as model, gateway(tmp_path, model) as here:
        here.extra = clock.environ
        await here.start()
        job = await make(here, "0 12 * * *", tz="UTC")
        await at(here, clock, job, noon)
        await at(here, clock, job, noon + 3 * DAY)  # it runs ahead: days 1 and 2 are missed
        assert dues(await runs(here, job)) == [noon, noon + 3 * DAY]
        skipped = [row for row in await history(here, job) if row["state"] == "skipped"]
        assert sum(row["count"] for row in skipped) == 2
        await here.kill()
        clock.set(noon + 1 * DAY - 30.0)  # and it comes back
        await here.start()
        await at(here, clock, job, noon + 1 * DAY)
        await at(here, clock, job, noon + 2 * DAY)
        await at(here, clock, job, noon + 3 * DAY, runs_more=False)
        await at(here, clock, job, noon + 4 * DAY)
        ran = sorted(dues(await runs(here, job)))
        assert ran == [noon + n * DAY for n in range(5)]
        assert len(model.asked) == 5


async def at(
    here: GatewayProcess, clock: FakedClock, job: str, due: float, *, runs_more: bool = True
) -> None:
    """Let it become this instant, and wait until the run that is due then has ended."""
    before = len(await runs(here, job))
    clock.set(due + 0.5)
    await poke(here, clock, job)
    if runs_more:
        await until_run(here, job, before + 1)
