"""What a job's run may do: what its creator may, then and now, and never more jobs."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes.core.jobs import job_key
from hermes.core.messages import Person
from hermes.core.people import Role
from hermes.core.ports import (
    Answer,
    ModelRequest,
)
from hermes.core.principal import Principal
from hermes.views.jobs import JobAuthor
from tests.unit.schedules.world import ANNA, BY_ANNA, HOUR, OWNER, T0, calls, world


async def test_what_is_always_allowed_for_a_job_is_allowed_for_it_alone(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        subjects: set[str] = set()
        permit = here.gateway.worker.agent.permit

        def rule(_request: ModelRequest) -> Answer:
            for active in here.gateway.sessions.working():
                turn = active.session.turn
                if turn is not None:
                    subjects.add(permit.subject(active.session, turn).id)
            return Answer(text="Done.")

        here.rule[0] = rule
        job = await here.make("every 1h", BY_ANNA)
        await here.until(T0 + HOUR + 1)
        assert subjects == {job_key(job.id)}, "a grant is bound to its subject, and that is the job"


async def test_a_revoked_creator_pauses_the_job(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        job = await here.make("every 1h", BY_ANNA)
        here.roles["anna"] = Role.STRANGER
        await here.until(T0 + HOUR + 1)
        shown = await here.shown(job)
        assert shown.state == "paused"
        assert "its creator may not use Hermes any more" in shown.why
        assert here.asked == []


@pytest.mark.parametrize(("then", "now"), [(Role.PAIRED, Role.OWNER), (Role.OWNER, Role.PAIRED)])
async def test_rights_are_those_of_the_creator_at_creation_and_now(
    tmp_path: Path, then: Role, now: Role
) -> None:
    """A person who is only paired may change no schedules; neither may a job of theirs."""
    act = '{"action": "remove", "job_id": "another"}'
    async with world(tmp_path, calls("cronjob", act)) as here:
        principal = Principal(person=Person(id="anna"), spoke=ANNA, direct=True, ceiling=then)
        await here.make("every 1h", JobAuthor(by="anna", principal=principal, origin=ANNA))
        here.roles["anna"] = now
        await here.until(T0 + HOUR + 1)
        result = here.asked[-1].lines[-1]
        assert "which a paired person may not do" in result.text


@pytest.mark.parametrize("action", ["create", "update", "run", "resume"])
async def test_a_run_makes_and_changes_no_jobs(tmp_path: Path, action: str) -> None:
    wish = f'{{"action": "{action}", "job_id": "report", "schedule": "every 1h", "prompt": "x"}}'
    async with world(tmp_path, calls("cronjob", wish)) as here:
        await here.make("every 1h", BY_ANNA, name="report")
        await here.until(T0 + HOUR + 1)
        assert "a scheduled run may not make, change or start jobs" in here.asked[-1].lines[-1].text
        assert len(await here.store.jobs.jobs(limit=9)) == 1


async def test_a_run_may_pause_itself_and_no_other(tmp_path: Path) -> None:
    async with world(tmp_path, calls("cronjob", '{"action": "pause", "job_id": "a"}')) as here:
        own = await here.make("every 1h", BY_ANNA, name="a")
        await here.until(T0 + HOUR + 1)
        assert (await here.shown(own)).state == "paused"
        other = await here.make("every 1h", BY_ANNA, name="b")
        await here.until(T0 + 3 * HOUR)
        assert "may pause or remove itself" in here.asked[-1].lines[-1].text
        assert (await here.shown(other)).state == "active"


async def test_what_needs_approval_parks_the_run_and_later_ones_are_skipped(
    tmp_path: Path,
) -> None:
    act = '{"action": "pause", "job_id": "a"}'
    async with world(tmp_path, calls("cronjob", act)) as here:
        tainted = replace(BY_ANNA, labels=("untrusted",))
        job = await here.make("every 1h", tainted, name="a")
        await here.until(T0 + HOUR + 1)
        assert await here.states(job) == ["waiting"]
        [card] = here.plaza.to(ANNA)
        assert card.startswith("Change what runs by itself?")
        await here.until(T0 + 2 * HOUR + 1)
        skipped = (await here.history(job))[0]
        assert (skipped.state, skipped.why) == ("skipped", "the run before it waits for you")
        [question] = await here.store.library.questions(limit=5, pending=True)
        yes = replace(here.said(f"/approve {question.id}"), session=question.key)
        await here.gateway.accept(yes)
        await here.settle()
        assert (await here.shown(job)).state == "paused"
        assert sorted(await here.states(job)) == ["done", "skipped"]


async def test_the_prompt_keeps_the_labels_of_who_wrote_it(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        job = await here.make("every 1h", replace(BY_ANNA, labels=("untrusted",)))
        await here.until(T0 + HOUR + 1)
        session = await here.store.journal.load((await here.store.jobs.job(job.id)).key)  # type: ignore[union-attr]
        assert "untrusted" in session.view.labels


async def test_removing_a_job_ends_its_run_and_drops_what_waits(tmp_path: Path) -> None:
    act = '{"action": "pause", "job_id": "a"}'
    async with world(tmp_path, calls("cronjob", act)) as here:
        tainted = replace(BY_ANNA, labels=("untrusted",))
        job = await here.make("every 1h", tainted, name="a")
        await here.until(T0 + HOUR + 1)
        assert await here.states(job) == ["waiting"]
        await here.acts.run(here.host, job.id, OWNER)
        await here.acts.remove(here.host, job.id, OWNER)
        await here.settle()
        assert await here.states(job) == ["stopped"]
        [question] = await here.store.library.questions(limit=5)
        assert question.state == "superseded"
