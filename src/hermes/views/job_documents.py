"""Jobs and their runs as JSON documents, the same in the terminal and over HTTP.

Due times to come are told in the job's zone; what has happened, in UTC, so that texts sort like
times.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec.structs import asdict

from hermes.core.schedule import local_time
from hermes.views.jobs import JobView, RunView

Document = Mapping[str, object]


def brief_document(job: JobView) -> Document:
    """What is read back when a job is made or changed."""
    return {
        "id": job.id,
        "name": job.name,
        "schedule": job.schedule,
        "words": job.words,
        "next": [zoned(due, job.zone) for due in job.next],
    }


def job_document(job: JobView) -> Document:
    """All about a job. What can be set has the name under which it is set."""
    return {
        **brief_document(job),
        "state": job.state,
        "why": job.why,
        "tz": job.zone,
        "prompt": job.prompt,
        "deliver": job.deliver,
        "model": job.model,
        "skills": job.skills,
        "toolsets": job.toolsets,
        "workdir": job.workdir,
        "script": job.script,
        "no_agent": job.no_agent,
        "context_from": job.context_from,
        "repeat": job.repeat,
        "missed": job.missed,
        "overlap": job.overlap,
        "budget": job.budget,
        "timeout": job.timeout_s,
        "creator": job.creator,
        "changed_by": job.by,
        "created_at": _iso(job.created_at or None),
        "changed_at": _iso(job.changed_at or None),
        "version": job.version,
        "kind": job.kind,
    }


def run_document(run: RunView) -> Document:
    return {
        "due": _iso(run.due),
        "began": _iso(run.began),
        "ended": _iso(run.ended),
        "state": run.state,
        "turn": run.turn,
        "why": run.why,
        "delivered": run.delivered,
        "targets": [asdict(target) for target in run.targets],
        "count": run.count,
    }


def zoned(at: float, zone: str) -> str:
    return local_time(at, zone).isoformat(timespec="seconds")


def _iso(at: float | None) -> str | None:
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
