"""Shared by the cron commands: a job and its runs, for people and for programs."""

from collections.abc import Mapping

from hermes.cli.output.console import Console
from hermes.cli.output.times import iso
from hermes.core.schedule import local_time
from hermes.views.jobs import JobView, RunView


def brief_document(view: JobView) -> Mapping[str, object]:
    return {
        "id": view.id,
        "name": view.name,
        "schedule": view.schedule,
        "words": view.words,
        "next": [zoned(at, view.zone) for at in view.next],
    }


def job_document(view: JobView) -> Mapping[str, object]:
    return {
        **brief_document(view),
        "state": view.state,
        "why": view.why,
        "zone": view.zone,
        "prompt": view.prompt,
        "deliver": list(view.deliver),
        "model": view.model,
        "skills": list(view.skills),
        "toolsets": list(view.toolsets),
        "workdir": view.workdir,
        "script": view.script,
        "no_agent": view.no_agent,
        "context_from": list(view.context_from),
        "repeat": view.repeat,
        "missed": view.missed,
        "overlap": view.overlap,
        "budget": view.budget,
        "timeout": view.timeout_s,
        "creator": view.creator,
        "changed_by": view.by,
        "created_at": iso(view.created_at or None),
        "changed_at": iso(view.changed_at or None),
        "version": view.version,
        "kind": view.kind,
    }


def run_document(run: RunView) -> Mapping[str, object]:
    return {
        "due": iso(run.due),
        "began": iso(run.began),
        "ended": iso(run.ended),
        "state": run.state,
        "turn": run.turn,
        "why": run.why,
        "delivered": run.delivered,
        "targets": [{"to": each.to, "state": each.state} for each in run.targets],
        "count": run.count,
    }


def zoned(at: float, zone: str) -> str:
    return local_time(at, zone).isoformat(timespec="seconds")


def clock_of(at: float, zone: str) -> str:
    there = local_time(at, zone)
    return f"{there:%a %d %b %Y, %H:%M:%S}" if there.second else f"{there:%a %d %b %Y, %H:%M}"


def read_back(console: Console, view: JobView, said: str) -> None:
    """Say what the job is now: the schedule in words, and its next times in its zone."""
    console.say(f"{said}: {view.name} ({view.id})")
    console.say(f"  runs     {view.words}")
    for number, at in enumerate(view.next):
        console.say(f"  {'next   ' if not number else '       '}  {clock_of(at, view.zone)}")
    if view.next:
        console.say(f"  zone     {view.zone}")
    console.say(f"  answers  {', '.join(view.deliver)}")
    if view.state != "active":
        why = f": {view.why}" if view.why else ""
        console.say(f"  state    {view.state}{why}")
