"""What is refused when a job is made, and with which words; what is read back of the others."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes.core.errors import Rejected
from hermes.views.jobs import JobRequest
from tests.unit.schedules.world import BY_ANNA, OWNER, T0, world


@pytest.mark.parametrize(
    ("wish", "fix"),
    [
        ({"schedule": "whenever"}, "I can't read “whenever” as a schedule"),
        ({"schedule": "every 5s"}, "the least is 1 minute (schedules.min_interval_s)"),
        ({"schedule": "at 2001-01-01T09:00"}, "Name a time that is still to come"),
        ({"schedule": "every 1h", "tz": "Mars/Base"}, "is not a time zone that I know"),
        ({"schedule": "every 1h", "tz": "Europe/Pari"}, "Did you mean “Europe/Paris”?"),
        ({"schedule": "every 1h", "deliver": ("icq:1",)}, "“icq” is not set up here"),
        ({"schedule": "every 1h", "deliver": ("plaza:nobody",)}, "there is no chat"),
        ({"schedule": "every 1h", "deliver": ("none", "home")}, "“none” stands alone"),
        ({"schedule": "every 1h", "deliver": ("origin",)}, "this one is made in no chat"),
        ({"schedule": "every 1h", "toolsets": ("wep",)}, "Did you mean “web”?"),
        ({"schedule": "every 1h", "skills": ("gone",)}, "there is no skill “gone”"),
        ({"schedule": "every 1h", "context_from": ("gone",)}, "there is no job “gone”"),
        ({"schedule": "every 1h", "workdir": "here"}, "is not a folder"),
        ({"schedule": "every 1h", "script": "../x.sh"}, "is not in"),
        ({"schedule": "every 1h", "script": "gone.sh"}, "cannot be read"),
        ({"schedule": "every 1h", "no_agent": True}, "needs a script"),
        ({"schedule": "every 1h", "prompt": ""}, "say what the job is to do"),
        ({"schedule": "every 1h", "prompt": "x" * 30_000}, "write a skill"),
        ({"schedule": "every 1h", "repeat": -1}, "0 means no limit"),
    ],
)
async def test_bad_input_is_refused_with_the_fix(
    tmp_path: Path, wish: dict[str, object], fix: str
) -> None:
    async with world(tmp_path) as here:
        wanted = JobRequest(**{"prompt": "Look.", **wish})  # type: ignore[arg-type]
        with pytest.raises(Rejected) as refused:
            await here.acts.create(here.host, wanted, OWNER)
        assert fix in str(refused.value)
        assert await here.store.jobs.jobs(limit=9, removed=True) == []


async def test_the_same_act_makes_one_job_however_often_it_is_tried(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        author = replace(BY_ANNA, token="call-1")
        first = await here.make("every 1h", author)
        here.time[0] = T0 + 90
        assert await here.make("every 1h", author) == replace(first, words=first.words)
        assert len(await here.store.jobs.jobs(limit=9)) == 1


async def test_looking_moves_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        job = await here.make("every 1h")
        before = await here.store.jobs.job(job.id)
        events = await here.store.library.events(before.key)  # type: ignore[union-attr]
        here.time[0] = T0 + 5 * 3600
        await here.acts.listed(here.host)
        await here.acts.upcoming(here.host, job.id)
        await here.acts.history(here.host, job.id)
        assert await here.store.jobs.job(job.id) == before
        assert await here.store.library.events(before.key) == events  # type: ignore[union-attr]


async def test_a_dry_run_makes_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        wanted = JobRequest(schedule="every weekday at 07:00", prompt="Look.", tz="Europe/Paris")
        seen = await here.acts.preview(here.host, wanted, OWNER)
        assert seen.words == "every weekday at 07:00 (Europe/Paris)"
        assert len(seen.next) == 3
        assert await here.store.jobs.jobs(limit=9) == []


async def test_a_job_is_found_by_its_id_its_name_or_the_beginning_of_its_id(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        job = await here.make("every 1h", name="Morning report")
        for name in (job.id, "morning REPORT", job.id[:4]):
            assert (await here.acts.show(here.host, name)).id == job.id
        await here.make("every 1h", name="Morning report")
        with pytest.raises(Rejected, match="the name of several jobs"):
            await here.acts.show(here.host, "Morning report")


async def test_a_changed_schedule_counts_from_the_change_and_a_changed_prompt_moves_nothing(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        job = await here.make("every 2h")
        here.time[0] = T0 + 3600
        same = await here.acts.edit(here.host, job.id, JobRequest(prompt="Other."), OWNER)
        assert same.next == job.next
        other = await here.acts.edit(here.host, job.id, JobRequest(schedule="every 3h"), OWNER)
        assert other.next[0] == T0 + 3600 + 3 * 3600


async def test_the_tool_reads_back_what_it_made(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        job = await here.make("30m", BY_ANNA, name="tea")
        assert job.words.startswith("once, at ")
        assert "(in 30 minutes)" in job.words
