"""What people, models and programs do to jobs: one implementation for all (see `JobActs`)."""

import asyncio
import hashlib
import os
from collections.abc import Sequence

from hermes.core.audit import entry
from hermes.core.errors import JobChanged, Rejected
from hermes.core.events import Event
from hermes.core.ids import CallId, MessageId, SessionId, SessionKey
from hermes.core.job_events import JobChange, JobPaused, JobRemoved, JobResumed, JobSet
from hermes.core.jobs import SCHEDULE, Job, JobRow, job_address, job_key, was_set
from hermes.core.messages import CallSettlement, Inbound, Person
from hermes.core.people import derived
from hermes.core.schedule import dues_between
from hermes.core.store import Store
from hermes.schedules.context import earlier_answers
from hermes.schedules.drafting import Directory, drafted
from hermes.schedules.history import runs_of
from hermes.schedules.occurrence_messages import occurrence
from hermes.schedules.rules import JobRules
from hermes.schedules.scripts import pin_script
from hermes.views.jobs import (
    JobAuthor,
    JobHost,
    JobRequest,
    JobView,
    RunView,
    ShownState,
)
from hermes.views.schedule_words import in_words

ID_CHARS = 10
NEXT_SHOWN = 3
JOBS_MAX = 10_000
CHATS_MAX = 1_000
DONE_SHOWN_S = 30 * 86_400.0
FAR_S = 100 * 366 * 86_400.0
EVENTS_PAGE = 1_000
TRIES = 5
NOT_BY_A_JOB = (
    "a scheduled run may not make, change or start jobs; it may pause or remove itself. "
    "Ask the person to do it"
)


class HomeJobs:
    """See `JobActs`."""

    def __init__(self, rules: JobRules) -> None:
        self._rules = rules

    async def preview(self, host: JobHost, wanted: JobRequest, author: JobAuthor) -> JobView:
        job = await self._drafted(host, wanted, None, author)
        return self._view(was_set(None, job_key(job.id), job, author.by, host.clock()), host)

    async def create(
        self, host: JobHost, wanted: JobRequest, author: JobAuthor, *, paused: str = ""
    ) -> JobView:
        _demand_person(author)
        job = await self._drafted(host, wanted, None, author)
        known = await host.store.jobs.job(job.id)
        if known is not None:  # the same act, tried again
            return self._view(known, host)
        await self._pin(job)
        made = JobSet(
            job, author.by, host.clock(), SessionId(_token(f"{job.id}/first", 26)), paused
        )
        row = await self._written(host, job_key(job.id), made, 0)
        return self._view(row, host)

    async def edit(
        self,
        host: JobHost,
        name: str,
        wanted: JobRequest,
        author: JobAuthor,
        *,
        version: int | None = None,
        dry_run: bool = False,
    ) -> JobView:
        _demand_person(author)
        row = await self._found(host, name, author)
        seen = row.job.version if version is None else version
        for _ in range(TRIES):
            if row.job.version != seen:
                raise JobChanged(
                    f"“{row.job.name}” was changed meanwhile: it has version {row.job.version}, "
                    f"and you saw {seen}. Look at it again, and then change it"
                )
            job = await self._drafted(host, wanted, row.job, author)
            if dry_run:
                return self._view(was_set(row, row.key, job, author.by, host.clock()), host)
            await self._pin(job)
            try:
                change = JobSet(job, author.by, host.clock())
                return self._view(await self._written(host, row.key, change, row.revision), host)
            except JobChanged:  # perhaps only its timer moved
                row = await self._found(host, name, author)
        raise Rejected(f"“{row.job.name}” is being changed all the time. Try again")

    async def pause(self, host: JobHost, name: str, author: JobAuthor, why: str = "") -> JobView:
        row = await self._found(host, name, author)
        _demand_own(author, row)
        change = JobPaused(why or f"paused by {author.by}", author.by, host.clock())
        return await self._put(host, row, change)

    async def resume(self, host: JobHost, name: str, author: JobAuthor) -> JobView:
        _demand_person(author)
        row = await self._found(host, name, author)
        return await self._put(host, row, JobResumed(author.by, host.clock()))

    async def remove(self, host: JobHost, name: str, author: JobAuthor) -> JobView:
        row = await self._found(host, name, author)
        _demand_own(author, row)
        view = await self._put(host, row, JobRemoved(author.by, host.clock()))
        session = await host.store.journal.load(row.key)
        if session.turn is not None or session.waiting:
            await host.accept(_nudge(row, host.clock()))
        return view

    async def run(self, host: JobHost, name: str, author: JobAuthor) -> str:
        _demand_person(author)
        row = await self._found(host, name, author)
        now, homes = host.clock(), await host.store.library.homes()
        token = _token(author.token, ID_CHARS) if author.token else os.urandom(5).hex()
        id_ = MessageId(f"{row.id}@run-{token}")
        earlier = await earlier_answers(host.store, row.job)
        await host.accept(occurrence(row, id_, 0.0, now, homes, earlier))
        return id_

    async def listed(self, host: JobHost, *, every: bool = False) -> Sequence[JobView]:
        now = host.clock()
        rows = await host.store.jobs.jobs(limit=JOBS_MAX, removed=every)
        shown = [row for row in rows if every or not _is_long_done(row, now)]
        return [*(self._view(row, host) for row in shown), *self._rules.system()]

    async def show(self, host: JobHost, name: str) -> JobView:
        return self._view(await self._found(host, name, removed=True), host)

    async def history(self, host: JobHost, name: str, *, limit: int = 20) -> Sequence[RunView]:
        row = await self._found(host, name, removed=True)
        wanted = min(limit, self._rules.keep_runs)
        turns = await host.store.library.turns(limit=wanted + 1, key=row.key)
        first = turns[-1].first - 1 if len(turns) > wanted else 0
        events = await _events(host.store, row, max(first - 1, 0))
        sent = await host.store.outbox.rows(row.key, limit=20 * wanted)
        return runs_of(events, sent)[::-1][:wanted]

    async def upcoming(self, host: JobHost, name: str, *, limit: int = 10) -> Sequence[float]:
        return _next(await self._found(host, name), host.clock(), limit)

    async def _drafted(
        self, host: JobHost, wanted: JobRequest, before: Job | None, author: JobAuthor
    ) -> Job:
        token = author.token or os.urandom(16).hex()
        id_ = before.id if before is not None else _token(token, ID_CHARS)
        library = host.store.library
        named = wanted.context_from or (before.context_from if before is not None else ())
        rows = await host.store.jobs.jobs(limit=JOBS_MAX) if named else ()
        jobs = [row.id for row in rows if author.may_touch(row.job.creator)]
        known = Directory(await library.chats(limit=CHATS_MAX), await library.homes(), jobs)
        return drafted(wanted, before, id_, author, self._rules, known, host.clock())

    async def _pin(self, job: Job) -> None:
        rules = self._rules
        await asyncio.to_thread(pin_script, job, rules.scripts, rules.folder)

    async def _found(
        self, host: JobHost, name: str, author: JobAuthor | None = None, *, removed: bool = False
    ) -> JobRow:
        """Find a job by its id, its name, or the only id that begins so: one that the author may
        touch, and one that is there before one that is removed."""
        row = await host.store.jobs.job(name)
        if row is not None and _is_found(row, author, removed=removed):
            return row
        rows = await host.store.jobs.jobs(limit=JOBS_MAX, removed=removed)
        rows = [row for row in rows if _is_found(row, author, removed=removed)]
        said = name.strip().lower()
        fits = [row for row in rows if row.job.name.lower() == said]
        fits = [row for row in fits if row.state != "removed"] or fits
        fits = fits or [row for row in rows if said and row.id.startswith(said)]
        if len(fits) == 1:
            return fits[0]
        if fits:
            ids = ", ".join(row.id for row in fits[:5])
            raise Rejected(f"“{name}” is the name of several jobs: {ids}. Say which id")
        raise Rejected(f"there is no job “{name}”. `hermes cron list` shows those that there are")

    async def _put(self, host: JobHost, row: JobRow, change: JobChange) -> JobView:
        return self._view(await self._written(host, row.key, change, None), host)

    async def _written(
        self, host: JobHost, key: SessionKey, change: JobChange, seen: int | None
    ) -> JobRow:
        row = await host.store.jobs.change(key, change, seen=seen)
        act = type(change).__name__.removeprefix("Job").lower()
        said = {"act": act, "by": row.by, "job": row.id, "name": row.job.name}
        await host.store.audit.write([entry("job", row.changed_at, **said)])
        return row

    def _view(self, row: JobRow, host: JobHost) -> JobView:
        return view_of(row, host.clock())


def view_of(row: JobRow, now: float) -> JobView:
    """Return a job as it is shown."""
    job = row.job
    state: ShownState = "done" if row.is_done else row.state
    return JobView(
        id=job.id,
        name=job.name,
        schedule=job.schedule.text,
        words=in_words(job.schedule, now),
        next=_next(row, now, NEXT_SHOWN),
        state=state,
        why=row.why,
        zone=job.schedule.zone,
        prompt=job.prompt,
        deliver=job.deliver,
        model=job.model,
        skills=job.skills,
        toolsets=job.toolsets,
        workdir=job.workdir,
        script=job.script,
        no_agent=job.no_agent,
        context_from=job.context_from,
        repeat=job.repeat,
        missed=job.missed,
        overlap=job.overlap,
        budget=job.tokens_max,
        timeout_s=job.timeout_s,
        creator=job.creator,
        by=row.by,
        created_at=job.created_at,
        changed_at=row.changed_at,
        version=job.version,
    )


def _next(row: JobRow, now: float, count: int) -> tuple[float, ...]:
    if row.state != "active":
        return ()
    return dues_between(row.job.schedule, max(row.cursor, now), now + FAR_S, count)


def _is_long_done(row: JobRow, now: float) -> bool:
    return row.is_done and now - max(row.cursor, row.changed_at) > DONE_SHOWN_S


async def _events(store: Store, row: JobRow, after: int) -> list[Event]:
    events: list[Event] = []
    while page := await store.library.events(row.key, after=after, limit=EVENTS_PAGE):
        events += page
        after += len(page)
    return events


def _nudge(row: JobRow, at: float) -> Inbound:
    """Return a message that says nothing: whoever runs the session looks at it, and sees that its
    job is gone."""
    said = Inbound(
        id=MessageId(f"{row.id}/{row.revision}/removed"),
        account=SCHEDULE,
        session=row.key,
        sender=Person(id="hermes"),
        address=job_address(row.id),
        text="The job was removed.",
        at=at,
        origin="result",
        settles=CallSettlement(call=CallId("")),
    )
    return derived(said)


def _token(text: str, chars: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:chars]


def _is_found(row: JobRow, author: JobAuthor | None, *, removed: bool) -> bool:
    mine = author is None or author.may_touch(row.job.creator)
    return mine and (removed or row.state != "removed")


def _demand_person(author: JobAuthor) -> None:
    if author.automatic:
        raise Rejected(NOT_BY_A_JOB)


def _demand_own(author: JobAuthor, row: JobRow) -> None:
    if author.automatic and author.automatic != row.id:
        raise Rejected(NOT_BY_A_JOB)
