"""What a job does when it is due: once, where it was told to, within its rights."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes.core.errors import ProviderFailed, Rejected
from hermes.core.messages import Address, Effect
from hermes.core.policy import Capability
from hermes.core.ports import (
    Answer,
    ModelRequest,
    Tool,
    ToolContext,
    ToolResult,
    ToolSpec,
)
from hermes.views.jobs import JobRequest
from tests.unit.schedules.world import ANNA, BERT, BY_ANNA, HOUR, OWNER, T0, World, calls, world


def failing(_request: ModelRequest) -> Answer:
    raise ProviderFailed("the provider is away.")


async def test_an_occurrence_is_one_turn_however_often_it_is_looked_at(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        job = await here.make("every 1h", BY_ANNA)
        await here.until(T0 + HOUR - 1)
        assert await here.history(job) == []
        for _ in range(3):
            await here.until(T0 + HOUR + 1)
        [run] = await here.history(job)
        assert (run.state, run.due, run.delivered) == ("done", T0 + HOUR, True)
        assert here.plaza.to(ANNA) == ["All is well."]
        assert (await here.shown(job)).next[0] == T0 + 2 * HOUR


async def test_a_clock_that_ran_ahead_and_came_back_doubles_and_loses_nothing(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        job = await here.make("every 1h", missed="once")
        await here.until(T0 + HOUR + 1)
        await here.until(T0 + 72 * HOUR + 1)  # three days ahead
        here.scheduler._offset = 10**12  # the step is seen by the clock that cannot be set
        await here.until(T0 + 2 * HOUR - 5)
        assert (await here.shown(job)).next[0] == T0 + 2 * HOUR
        for hour in range(2, 75):
            await here.until(T0 + hour * HOUR + 1)
        done = [run.due for run in await here.history(job) if run.turn]
        assert sorted(done) == [T0 + n * HOUR for n in range(1, 75)]


async def test_an_occurrence_that_overlaps_is_skipped_with_a_fact(tmp_path: Path) -> None:
    async with world(tmp_path, jobs_max=0) as here:
        job = await here.make("every 1h", BY_ANNA)
        for hour in (1, 2, 3):
            await here.until(T0 + hour * HOUR + 1)
        here.gateway.process.jobs_max = 8
        here.gateway.reconsider()
        await here.settle()
        assert sorted(await here.states(job)) == ["done", "skipped", "skipped"]
        why = {run.why for run in await here.history(job) if run.state == "skipped"}
        assert why == {"the run before it was still running"}


async def test_of_overlapping_occurrences_one_waits_if_the_job_says_so(tmp_path: Path) -> None:
    async with world(tmp_path, jobs_max=0) as here:
        job = await here.make("every 1h", BY_ANNA, overlap="queue")
        for hour in (1, 2, 3, 4):
            await here.until(T0 + hour * HOUR + 1)
        here.gateway.process.jobs_max = 8
        here.gateway.reconsider()
        await here.settle()
        runs = await here.history(job)
        assert [run.due for run in runs if run.turn][::-1] == [T0 + HOUR, T0 + 2 * HOUR]
        assert {run.why for run in runs if run.state == "skipped"} == {
            "a run was waiting for the one before it already"
        }


async def test_a_job_that_is_made_where_nothing_can_be_sent_answers_at_home(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        terminal = Address(platform="terminal", chat="1")
        job = await here.make("every 1h", replace(BY_ANNA, origin=terminal), deliver=("origin",))
        assert job.deliver == ("home",)


async def test_failures_of_one_cause_are_told_once_and_so_is_their_end(tmp_path: Path) -> None:
    async with world(tmp_path, failing) as here:
        job = await here.make("every 1h", BY_ANNA, name="report")
        for hour in (1, 2, 3):
            await here.until(T0 + hour * HOUR + 1)
        assert await here.states(job) == ["failed"] * 3
        [told] = here.plaza.to(ANNA)
        assert "“report” failed: the provider is away." in told
        assert f"hermes cron history {job.id}" in told
        here.rule[0] = lambda _request: Answer(text="All is well.")
        await here.until(T0 + 4 * HOUR + 1)
        await here.until(T0 + 5 * HOUR + 1)
        assert here.plaza.to(ANNA)[1:] == [
            "All is well.",
            "The scheduled job “report” works again, after 3 failed runs.",
            "All is well.",
        ]


async def test_after_five_failures_in_a_row_the_job_is_paused_with_one_command(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, failing) as here:
        job = await here.make("every 1h", BY_ANNA)
        for hour in range(1, 9):
            await here.until(T0 + hour * HOUR + 1)
        shown = await here.shown(job)
        assert (shown.state, shown.next) == ("paused", ())
        assert len([run for run in await here.history(job) if run.turn]) == 5
        assert f"hermes cron resume {job.id}" in here.plaza.to(ANNA)[-1]
        await here.acts.resume(here.host, job.id, OWNER)
        await here.until(T0 + 9 * HOUR + 1)
        assert len([run for run in await here.history(job) if run.turn]) == 6


@pytest.mark.parametrize("word", ["[SILENT]", "NO_REPLY", " [SILENT]\n"])
async def test_the_whole_answer_silent_sends_nothing(tmp_path: Path, word: str) -> None:
    async with world(tmp_path, lambda _request: Answer(text=word)) as here:
        job = await here.make("every 1h", BY_ANNA)
        await here.until(T0 + HOUR + 1)
        assert await here.states(job) == ["silent"]
        assert here.plaza.sent == []


async def test_the_word_inside_a_sentence_is_text(tmp_path: Path) -> None:
    async with world(tmp_path, lambda _r: Answer(text="I say [SILENT] aloud.")) as here:
        await here.make("every 1h", BY_ANNA)
        await here.until(T0 + HOUR + 1)
        assert here.plaza.to(ANNA) == ["I say [SILENT] aloud."]


async def test_each_target_gets_the_answer_and_local_is_a_file(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        for address in (ANNA, BERT):
            await here.gateway.accept(here.said("hello", address))
        await here.settle()
        here.plaza.sent.clear()
        job = await here.make("every 1h", BY_ANNA, deliver=("origin", "plaza:bert", "local"))
        assert job.deliver == ("plaza:anna", "plaza:bert", "local")
        await here.until(T0 + HOUR + 1)
        assert here.plaza.to(ANNA) == here.plaza.to(BERT) == ["All is well."]
        [file] = (tmp_path / "schedules" / job.id).glob("*.md")
        assert file.read_text(encoding="utf-8") == "All is well.\n"
        [run] = await here.history(job)
        assert {(each.to, each.state) for each in run.targets} == {
            ("plaza:anna", "delivered"),
            ("plaza:bert", "delivered"),
            (f"schedule:{job.id}", "delivered"),
        }


async def test_a_job_with_nowhere_to_answer_says_nothing_and_is_done(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        job = await here.make("every 1h", BY_ANNA, deliver=("none",))
        await here.until(T0 + HOUR + 1)
        assert await here.states(job) == ["done"]
        assert here.plaza.sent == []


async def test_repeat_counts_the_turns_that_were_begun(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        job = await here.make("every 1h", BY_ANNA, repeat=2)
        for hour in (1, 2, 3, 4):
            await here.until(T0 + hour * HOUR + 1)
        assert [state for state in await here.states(job) if state != "skipped"] == ["done"] * 2


async def test_no_more_jobs_run_at_once_than_the_settings_say(tmp_path: Path) -> None:
    async with world(tmp_path, jobs_max=2) as here:
        at_once: list[int] = []

        def rule(_request: ModelRequest) -> Answer:
            at_once.append(len(here.gateway.process.slots))
            return Answer(text="[SILENT]")

        here.rule[0] = rule
        jobs = [await here.make("every 1h", BY_ANNA) for _ in range(7)]
        await here.look(T0 + HOUR + 1)
        for _ in range(20):
            await here.settle()
            await here.gateway.look_after()
        assert max(at_once) <= 2
        for job in jobs:
            assert await here.states(job) == ["silent"]


async def test_the_last_answer_of_another_job_stands_in_front_with_its_labels(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        first = await here.make("in 1h", replace(BY_ANNA, labels=("untrusted",)), name="news")
        await here.make("in 2h", BY_ANNA, context_from=(first.id,))
        await here.until(T0 + HOUR + 1)
        await here.until(T0 + 2 * HOUR + 1)
        said = here.asked[-1].lines[0]
        assert "[The last answer of the job “news”:]\nAll is well." in said.text
        assert "untrusted" in said.labels


async def test_a_removed_job_is_a_tombstone_that_only_a_new_one_replaces(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        job = await here.make("every 1h", BY_ANNA)
        await here.acts.remove(here.host, job.id, OWNER)
        await here.until(T0 + 3 * HOUR)
        assert await here.history(job) == []
        with pytest.raises(Rejected, match="there is no job"):
            await here.acts.resume(here.host, job.id, OWNER)


async def test_of_two_edits_the_one_that_saw_an_older_version_is_refused(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        job = await here.make("every 1h", BY_ANNA)
        edit = here.acts.edit
        await edit(here.host, job.id, JobRequest(prompt="First."), OWNER, version=1)
        with pytest.raises(Rejected, match="has version 2, and you saw 1"):
            await edit(here.host, job.id, JobRequest(prompt="Second."), OWNER, version=1)
        assert (await here.shown(job)).prompt == "First."


async def test_a_missed_one_shot_that_is_too_old_is_told_to_its_target(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        job = await here.make("in 1h", BY_ANNA, name="reminder")
        await here.until(T0 + 48 * HOUR)
        assert await here.states(job) == ["skipped"]
        [told] = here.plaza.to(ANNA)
        assert "“reminder” did not run: it was missed more than 1 day ago" in told


async def test_a_late_run_says_so_to_the_model_and_in_the_history(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        job = await here.make("every 1h", BY_ANNA)
        await here.until(T0 + HOUR + 900)
        assert "It runs late, by 15 minutes" in here.asked[0].lines[0].text
        [run] = await here.history(job)
        assert (run.state, run.why) == ("late", "late by 15 minutes")


async def test_home_is_where_home_is_when_it_runs(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        job = await here.make("every 1h", OWNER)
        assert job.deliver == ("home",)
        await set_home(here)
        await here.until(T0 + HOUR + 1)
        assert here.plaza.to(BERT)[-1] == "All is well."


async def set_home(here: World) -> None:
    await here.gateway.accept(here.said("/sethome", BERT))
    await here.settle()


async def test_a_job_that_has_run_as_often_as_it_should_is_done(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        job = await here.make("every 1h", BY_ANNA, repeat=1)
        for hour in (1, 2, 3):
            await here.until(T0 + hour * HOUR + 1)
        shown = await here.shown(job)
        assert (shown.state, shown.next) == ("done", ())
        assert await here.states(job) == ["done"], "nothing more is due, so nothing is skipped"


async def test_an_imported_job_arrives_paused(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        wanted = JobRequest(schedule="every 1h", prompt="Look.")
        job = await here.acts.create(here.host, wanted, OWNER, paused="imported from a crontab")
        assert (job.state, job.why, job.next) == ("paused", "imported from a crontab", ())
        await here.until(T0 + 3 * HOUR)
        assert await here.history(job) == []


async def test_a_run_begins_where_its_job_says_and_not_where_the_last_one_went(
    tmp_path: Path,
) -> None:
    seen: list[str] = []

    async def run(context: ToolContext) -> ToolResult:
        seen.append(context.facts.get("workdir", ""))
        return ToolResult(text="moved", facts={"workdir": "/elsewhere"})

    move = Tool(
        spec=ToolSpec(name="move", description="Move.", parameters='{"type":"object"}'),
        check=lambda _arguments: "",
        effect=lambda _arguments: Effect.READ,
        run=run,
        capabilities=frozenset({Capability.PURE}),
    )
    async with world(tmp_path, calls("move", "{}"), tools=[move]) as here:
        await here.make("every 1h", BY_ANNA)
        await here.make("every 1h", BY_ANNA, workdir=str(tmp_path))
        for hour in (1, 2):
            await here.until(T0 + hour * HOUR + 1)
        assert sorted(seen) == ["", "", str(tmp_path), str(tmp_path)]
