"""Jobs in the store: changed by whoever saw them last, timed, and rebuilt from the journal."""

import asyncio

import pytest
from msgspec.structs import replace

from hermes.core.errors import JobChanged, Rejected
from hermes.core.ids import SessionId, SessionKey
from hermes.core.job_events import (
    JobChange,
    JobPaused,
    JobRemoved,
    JobResumed,
    JobSet,
    OccurrencesSkipped,
    TimerMoved,
)
from hermes.core.jobs import SCHEDULE, Job, JobRow, job_address, job_key, occurrence_id
from hermes.core.messages import Inbound, Person, ScheduledRun, TurnOptions
from hermes.core.people import derived
from hermes.core.schedule import Schedule
from hermes.core.store import Store
from tests.contract.places import A, Place

T0 = 1_800_000_000.0
HOUR = 3600.0


def hourly(anchor: float = T0) -> Schedule:
    return Schedule(text="every 1h", kind="interval", zone="UTC", anchor=anchor, step=HOUR)


def made(id_: str = "report", **changes: object) -> JobSet:
    job = Job(id=id_, name=id_, schedule=hourly(), prompt="Look.", created_at=T0)
    return JobSet(replace(job, **changes), "owner", T0, SessionId(f"first-{id_}"))


def occurrence(id_: str, due: float) -> Inbound:
    run = ScheduledRun(job=id_, name=id_, due=due)
    said = Inbound(
        id=occurrence_id(id_, due),
        account=SCHEDULE,
        session=job_key(id_),
        sender=Person(id=id_),
        address=job_address(id_),
        text="Look.",
        at=due,
        origin="schedule",
        options=TurnOptions(run=run),
    )
    return derived(said)


async def change(store: Store, event: JobChange, id_: str = "report", **seen: int) -> JobRow:
    return await store.jobs.change(job_key(id_), event, **seen)


async def known(store: Store, id_: str = "report") -> JobRow:
    row = await store.jobs.job(id_)
    assert row is not None
    return row


async def test_a_job_is_there_when_its_event_is_and_due_one_step_later(store: Store) -> None:
    row = await change(store, made(), seen=0)
    assert (row.state, row.due_at, row.revision) == ("active", T0 + HOUR, 1)
    assert await store.jobs.job("report") == row
    assert await store.jobs.jobs(limit=10) == [row]
    assert await store.jobs.next_due() == T0 + HOUR
    assert await store.jobs.due(T0 + HOUR - 1, limit=10) == []
    assert await store.jobs.due(T0 + HOUR, limit=10) == [row]
    events = await store.library.events(job_key("report"))
    assert events == [made()]
    session = await store.journal.load(job_key("report"))
    assert session.id == "first-report", "its first conversation begins with the job"


async def test_of_two_changes_at_once_the_one_that_saw_an_older_revision_is_refused(
    store: Store,
) -> None:
    await change(store, made(), seen=0)
    with pytest.raises(JobChanged):
        await change(store, made(prompt="Another."), seen=0)
    await change(store, made(prompt="The first edit."), seen=1)
    with pytest.raises(JobChanged):
        await change(store, made(prompt="The second edit."), seen=1)
    assert (await known(store)).job.prompt == "The first edit."
    assert len(await store.library.events(job_key("report"))) == 2, "a refused one leaves no event"


async def test_only_one_of_many_writers_gets_a_change_through(store: Store) -> None:
    await change(store, made(), seen=0)
    tries = [change(store, made(prompt=str(n)), seen=1) for n in range(8)]
    done = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(each, JobRow) for each in done) == 1
    assert sum(isinstance(each, JobChanged) for each in done) == 7


async def test_what_is_not_there_cannot_be_paused(store: Store) -> None:
    with pytest.raises(Rejected):
        await change(store, JobPaused("", "owner", T0))


async def test_a_paused_job_is_never_due_and_makes_up_for_nothing(store: Store) -> None:
    await change(store, made())
    paused = await change(store, JobPaused("on holiday", "owner", T0 + 60))
    assert (paused.state, paused.why, paused.due_at) == ("paused", "on holiday", None)
    assert await store.jobs.next_due() is None
    later = T0 + 10 * HOUR + 1
    resumed = await change(store, JobResumed("owner", later))
    assert (resumed.state, resumed.why, resumed.due_at) == ("active", "", T0 + 11 * HOUR)


async def test_a_removed_job_leaves_a_tombstone_that_is_not_listed(store: Store) -> None:
    await change(store, made())
    await change(store, JobRemoved("owner", T0 + 60))
    assert (await known(store)).state == "removed"
    assert await store.jobs.jobs(limit=10) == []
    assert [row.id for row in await store.jobs.jobs(limit=10, removed=True)] == ["report"]


async def test_the_timer_moves_after_an_occurrence_was_accepted_and_never_back(
    store: Store,
) -> None:
    await change(store, made())
    due = T0 + HOUR
    accepted = await store.journal.accept(occurrence("report", due), opens=SessionId("x"))
    assert accepted.fresh
    assert (await known(store)).due_at == due, "a kill here accepts again"
    again = await store.journal.accept(occurrence("report", due), opens=SessionId("y"))
    assert not again.fresh, "and that is not fresh"
    await store.jobs.advance(job_key("report"), due)
    await store.jobs.advance(job_key("report"), due - HOUR)
    row = await known(store)
    assert (row.cursor, row.due_at, row.revision) == (due, due + HOUR, 1)


async def test_skipped_occurrences_move_the_timer_and_a_clock_set_back_moves_it_back(
    store: Store,
) -> None:
    await change(store, made())
    last = T0 + 72 * HOUR
    await change(store, OccurrencesSkipped(T0 + HOUR, last, 72, "missed", last + 5))
    assert (await known(store)).due_at == last + HOUR
    assert [row.id for row in await store.jobs.ahead(T0 + 2 * HOUR, limit=9)] == ["report"]
    await change(store, TimerMoved(T0 + 2 * HOUR, T0 + 2 * HOUR))
    assert (await known(store)).due_at == T0 + 3 * HOUR
    assert await store.jobs.ahead(T0 + 2 * HOUR, limit=9) == []


async def test_a_rebuild_gives_the_same_rows(store: Store) -> None:
    for id_ in ("report", "backup", "gone"):
        await change(store, made(id_), id_)
    await change(store, JobPaused("later", "owner", T0 + 9), "backup")
    await change(store, JobRemoved("owner", T0 + 9), "gone")
    due = T0 + HOUR
    await store.journal.accept(occurrence("report", due), opens=SessionId("x"))
    await store.jobs.advance(job_key("report"), due)
    before = await store.jobs.jobs(limit=10, removed=True)
    sessions = await store.library.sessions(limit=10)
    await store.library.rebuild()
    assert await store.jobs.jobs(limit=10, removed=True) == before
    assert await store.library.sessions(limit=10) == sessions
    assert await store.upkeep.check() == []


async def test_an_owner_goes_on_writing_when_its_job_is_changed_meanwhile(store: Store) -> None:
    key = job_key("report")
    await change(store, made())
    await store.nodes.join(A)
    await store.journal.accept(occurrence("report", T0 + HOUR), opens=SessionId("x"))
    [claim] = await store.journal.claim(A, limit=1, only=key)
    session = await store.journal.load(claim.key)
    await change(store, made(prompt="Another."))
    assert session.position == 2
    assert len(await store.journal.since(SessionKey(key), 2)) == 1
    assert await store.upkeep.check() == []


async def test_a_change_ends_the_waiting_of_its_own_process(store: Store) -> None:
    waiting = asyncio.create_task(store.jobs.wait(600.0))
    await asyncio.sleep(0)
    await change(store, made())
    await asyncio.wait_for(waiting, 30)
    waiting = asyncio.create_task(store.jobs.wait(600.0))
    store.jobs.look_again()
    await asyncio.wait_for(waiting, 30)


async def test_deleting_the_session_deletes_the_job(place: Place) -> None:
    store = await place.open()
    await change(store, made())
    assert await store.library.delete(job_key("report"))
    assert await store.jobs.job("report") is None
    assert await store.jobs.next_due() is None
