"""The heartbeat: a job of Hermes' own that reads HEARTBEAT.md, within the hours of the settings."""

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.channel import ServiceHost
from hermes.core.ids import SessionId
from hermes.core.job_events import JobRemoved, JobSet
from hermes.core.jobs import Job, JobRow, job_key
from hermes.core.schedule import Schedule, local_time
from hermes.views.schedule_words import step_in_words

HEARTBEAT = "heartbeat"
BY = "the settings"
CHARS_MAX = 20_000
PROMPT = "Read the notes below, and do what is due now. If nothing needs attention, be silent."


class Heartbeat(Struct, frozen=True):
    file: Path
    hours: str

    def gate(self, row: JobRow, now: float) -> str:
        """Why this occurrence asks no model; "" for every other job."""
        if row.id != HEARTBEAT:
            return ""
        clock = f"{local_time(now, row.job.schedule.zone):%H:%M}"
        start, stop = self.hours.split("-")
        inside = start <= clock < stop if start <= stop else clock >= start or clock < stop
        if not inside:
            return f"it is outside of heartbeat.hours ({self.hours})"
        return "" if self.text() else "HEARTBEAT.md is empty"

    def text(self) -> str:
        try:
            return self.file.read_text(encoding="utf-8", errors="replace")[:CHARS_MAX].strip()
        except OSError:
            return ""

    def prompted(self, row: JobRow) -> JobRow:
        """Return the row with what the file says now."""
        if row.id != HEARTBEAT:
            return row
        prompt = f"{PROMPT}\n\n{self.text()}"
        return replace(row, job=replace(row.job, prompt=prompt))


async def put(host: ServiceHost, every_s: float, zone: str) -> None:
    """Make, change or remove the job as the settings say."""
    row = await host.store.jobs.job(HEARTBEAT)
    now = host.clock()
    there = row is not None and row.state != "removed"
    if not every_s:
        if row is not None and there and row.by == BY:
            await host.store.jobs.change(row.key, JobRemoved(BY, now))
        return
    same = row is not None and there and _is_same(row.job.schedule, every_s, zone)
    if same:
        return
    text = f"every {step_in_words(every_s)}"
    schedule = Schedule(text=text, kind="interval", zone=zone, anchor=float(int(now)), step=every_s)
    job = Job(
        id=HEARTBEAT,
        name=HEARTBEAT,
        schedule=schedule,
        prompt=PROMPT,
        creator=BY,
        version=row.job.version + 1 if row is not None else 1,
        created_at=now,
    )
    made = JobSet(job, BY, now, SessionId(f"{HEARTBEAT}-first"))
    await host.store.jobs.change(job_key(HEARTBEAT), made)


def _is_same(schedule: Schedule, every_s: float, zone: str) -> bool:
    return (schedule.step, schedule.zone) == (every_s, zone)
