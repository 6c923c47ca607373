"""One job whose time has come: run it, skip it with a fact, or pause it and say so."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.channel import ServiceHost
from hermes.core.directory import UNREAD, Target, relay
from hermes.core.errors import JobChanged, Rejected
from hermes.core.ids import chat_key
from hermes.core.job_events import JobChange, JobFinished, JobPaused, OccurrencesSkipped, TimerMoved
from hermes.core.jobs import SCHEDULE, JobRow, occurrence_id
from hermes.core.messages import Inbound
from hermes.core.people import derived
from hermes.core.principal import Address
from hermes.core.session import Session, Waiting
from hermes.schedules.context import earlier_answers
from hermes.schedules.occurrence_messages import occurrence
from hermes.schedules.occurrences import DueDecision, OccurrenceRules, Standing, decide
from hermes.schedules.scripts import digest_of_script
from hermes.schedules.targets import addresses_now, told_at

BY = "hermes"


class DueRules(Struct, frozen=True, kw_only=True):
    """`gate` says why an occurrence has nothing to do; "": it has."""

    scripts: Path
    late_max_s: float = 24 * 3600.0
    pause_after: int = 5
    gate: Callable[[JobRow, float], str] = lambda _row, _now: ""
    prompted: Callable[[JobRow], JobRow] = lambda row: row  # with words that are read now


class DueJobs(Struct, frozen=True):
    host: ServiceHost
    rules: DueRules

    async def consider(self, row: JobRow, now: float) -> None:
        """Deal with all occurrences of a job that are due by now."""
        if why := await self._hindrance(row):
            await self._pause(row, why, now)
            return
        if why := self.rules.gate(row, now):
            due = row.due_at or now
            await self.change(row, OccurrencesSkipped(due, due, 1, why, now))
            return
        session = await self.host.store.journal.load(row.key)
        left = await self._left(row, session)
        rules = OccurrenceRules(self.rules.late_max_s)
        decision = decide(row, now, standing_of(session), left, rules)
        await self._do(self.rules.prompted(row), decision, now)
        if left is not None and left <= len(decision.run):
            await self.host.store.jobs.change(row.key, JobFinished(now))

    async def pause_failing(self, id_: str) -> None:
        """Pause a job when it has failed too often, not only when it is due again."""
        row = await self.host.store.jobs.job(id_)
        if row is not None and row.state == "active" and (why := await self._worn(row)):
            await self._pause(row, why, self.host.clock())

    async def change(self, row: JobRow, change: JobChange) -> None:
        """Another change that came first is looked at with the next round."""
        try:
            await self.host.store.jobs.change(row.key, change, seen=row.revision)
        except JobChanged:
            self.host.store.jobs.look_again()

    async def _do(self, row: JobRow, decision: DueDecision, now: float) -> None:
        store = self.host.store
        homes = await store.library.homes()
        earlier = await earlier_answers(store, row.job) if decision.run else ()
        for each in decision.in_order:
            if isinstance(each, OccurrencesSkipped):
                await self._skip(row, each, now)
                continue
            message = occurrence(row, occurrence_id(row.id, each), each, now, homes, earlier)
            try:
                accepted = await self.host.accept(message)
            except Rejected as refused:
                why = f"its creator may not use Hermes any more ({refused})"
                await self._pause(row, why, now)
                return
            if accepted.fresh:
                await store.jobs.advance(row.key, each)
            else:  # the journal says so, too, that this one was dealt with
                await store.jobs.change(row.key, TimerMoved(each, now))

    async def _skip(self, row: JobRow, fact: OccurrencesSkipped, now: float) -> None:
        if row.job.schedule.kind == "once":
            text = f"The scheduled job “{row.job.name}” did not run: {fact.why}."
            await self._tell(row, f"{row.id}@{fact.last:.0f}/skipped", text, now)
        await self.host.store.jobs.change(row.key, fact)

    async def _left(self, row: JobRow, session: Session) -> int | None:
        """How many runs of its `repeat` are left; None: it has no limit."""
        if not row.job.repeat:
            return None
        begun = await self.host.store.library.turns(limit=row.job.repeat, key=row.key)
        return max(row.job.repeat - len(begun) - len(session.waiting), 0)

    async def _hindrance(self, row: JobRow) -> str:
        """Why the job must be paused before it runs again; empty: it need not."""
        job = row.job
        if job.script:
            try:
                digest = await asyncio.to_thread(digest_of_script, job.script, self.rules.scripts)
            except Rejected as missing:
                return str(missing)
            if digest != job.digest:
                return (
                    f"its script {job.script} was changed. If that was you, run: "
                    f"hermes cron edit {job.id} --script {job.script} && "
                    f"hermes cron resume {job.id}"
                )
        return await self._worn(row)

    async def _worn(self, row: JobRow) -> str:
        """Too many runs in a row have failed since somebody last looked at the job."""
        most = self.rules.pause_after
        turns = await self.host.store.library.turns(limit=most, key=row.key) if most else ()
        fresh = [turn for turn in turns if turn.started_at > row.changed_at]
        if most and len(fresh) >= most and all(turn.state == "failed" for turn in fresh):
            fix = f"When you have fixed the cause, run: hermes cron resume {row.id}"
            return f"{most} runs in a row failed. {fix}"
        return ""

    async def _pause(self, row: JobRow, why: str, now: float) -> None:
        text = f"I paused the scheduled job “{row.job.name}”: {why}"
        await self._tell(row, f"{row.id}/{row.revision}/paused", text, now)
        await self.change(row, JobPaused(why, BY, now))

    async def _tell(self, row: JobRow, id_: str, text: str, now: float) -> None:
        homes = await self.host.store.library.homes()
        for address in told_at(row.job, addresses_now(row.job, homes), homes):
            where = f"{address.platform}:{address.chat}:{address.thread}"
            await self.host.accept(notice(address, text, f"{id_}/{where}", now))


def standing_of(session: Session) -> Standing:
    """Return what the run before is doing."""
    runs = [each for each in session.waiting if each.account == SCHEDULE]
    if isinstance(session.phase, Waiting) and session.questions:
        return "asks"
    idle = session.turn is None or session.phase_name == "suspended"
    more = len(runs) - 1 if idle else len(runs)  # than the one whose turn it is
    return "free" if more < 0 else "waits" if more else "runs"


def notice(address: Address, text: str, id_: str, at: float) -> Inbound:
    """Return a word of ours for a chat; no model reads it."""
    lane = chat_key(address.platform, "dm", address.chat, thread=address.thread)
    said = relay(Target(address, lane), text, account=SCHEDULE, id_=id_, at=at)
    return derived(replace(said, labels=(UNREAD,)))
