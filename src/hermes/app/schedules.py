"""Jobs and their clock, made from the settings of a home. Part of the composition root."""

import os
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hermes.core.channel import ServiceHost
from hermes.core.errors import BadSchedule, Misconfigured
from hermes.core.schedule import zone_of
from hermes.lazy import Lazy, LazyModule
from hermes.schedules.scheduler import Scheduler
from hermes.settings import Settings

if TYPE_CHECKING:
    from hermes.app import agent_setup, platforms
    from hermes.app import models as app_models
    from hermes.schedules import acts, due, heartbeat, system
    from hermes.schedules import rules as job_rules
    from hermes.secrets import live as live_secrets
    from hermes.settings import toolsets
    from hermes.views.jobs import JobActs
else:
    agent_setup = LazyModule("hermes.app.agent_setup")
    app_models = LazyModule("hermes.app.models")
    platforms = LazyModule("hermes.app.platforms")
    acts = LazyModule("hermes.schedules.acts")
    due = LazyModule("hermes.schedules.due")
    heartbeat = LazyModule("hermes.schedules.heartbeat")
    system = LazyModule("hermes.schedules.system")
    job_rules = LazyModule("hermes.schedules.rules")
    live_secrets = LazyModule("hermes.secrets.live")
    toolsets = LazyModule("hermes.settings.toolsets")

LOCALTIME, TIMEZONE = Path("/etc/localtime"), Path("/etc/timezone")
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def acts_of(home: Path, settings: Settings, skills: Callable[[], Collection[str]]) -> "JobActs":
    """What people, models and programs can do to the jobs of this home."""
    chosen = Lazy(lambda: app_models.Models(settings))
    sink = Lazy(lambda: live_secrets.sink_of(home, settings))
    section = settings.schedules

    def clean(text: str) -> str:
        return sink()(text)

    rules = job_rules.JobRules(
        home=home,
        zone=zone_in(settings, os.environ),
        step_s_min=section.min_interval_s,
        missed=section.missed,
        keep_runs=section.keep_runs,
        platforms=_reached(settings),
        toolsets=tuple(toolsets.TOOLSETS),
        model=lambda name: chosen().name(name),
        skills=skills,
        clean=clean,
        system=lambda: system.system_jobs(home, reviews=_reviews(settings)),
    )
    return acts.HomeJobs(rules)


def terminal_acts(home: Path, settings: Settings, environ: Mapping[str, str]) -> "JobActs":
    """The same, for a command on this machine."""
    demand_sound(settings)
    shelf = Lazy(lambda: agent_setup.skill_library(home, settings, environ))
    return acts_of(home, settings, lambda: [row.name for row in shelf().rows()])


def scheduler_of(home: Path, settings: Settings) -> Scheduler:
    """The service that runs jobs when they are due. Raises Misconfigured."""
    demand_sound(settings)
    section, beat = settings.schedules, settings.heartbeat

    def rules() -> "due.DueRules":
        own = heartbeat.Heartbeat(home / "HEARTBEAT.md", beat.hours)
        return due.DueRules(
            scripts=home / "scripts",
            late_max_s=seconds(section.late_max),
            pause_after=section.pause_after_failures,
            gate=own.gate,
            prompted=own.prompted,
        )

    every_s = seconds(beat.every)

    async def prepare(host: ServiceHost) -> None:
        if every_s or await host.store.jobs.job("heartbeat") is not None:
            await heartbeat.put(host, every_s, zone_in(settings, os.environ))

    return Scheduler(Lazy(rules), prepare=prepare)


def demand_sound(settings: Settings) -> None:
    """Raise Misconfigured for an unknown time zone or an invalid length of time."""
    if settings.timezone:
        try:
            zone_of(settings.timezone)
        except BadSchedule as unknown:
            fix = "Use a name such as Europe/Paris or UTC"
            raise Misconfigured("timezone", f"“{settings.timezone}” is unknown", fix) from unknown
    lengths: Mapping[str, int | str] = {
        "schedules.late_max": settings.schedules.late_max,
        "heartbeat.every": settings.heartbeat.every,
    }
    for key, length in lengths.items():
        if re.fullmatch(r"\d{1,9} ?[smhdw]?", str(length).strip()) is None:
            raise Misconfigured(key, f"“{length}” is not a length of time", "Write 30m, 24h or 7d")


def seconds(length: int | str) -> float:
    """Return how long that is: 90, 90s, 30m, 24h, 7d."""
    text = str(length).strip()
    number = text.rstrip("smhdw").strip()
    return float(number) * UNITS[text[len(text.rstrip("smhdw")) :]]


def zone_in(settings: Settings, environ: Mapping[str, str]) -> str:
    """Return the IANA name of the zone in which schedules are meant."""
    return settings.timezone or machine_zone(environ)


def machine_zone(environ: Mapping[str, str]) -> str:
    """Return the machine's zone by its IANA name; UTC where it has none."""
    named = [environ.get("TZ", "").lstrip(":")]
    try:
        named.append(str(LOCALTIME.resolve()).partition("zoneinfo/")[2])
        named.append(TIMEZONE.read_text(encoding="ascii", errors="replace").strip())
    except OSError:
        named.append("")
    for name in filter(None, named):
        try:
            zone_of(name)
        except BadSchedule:
            continue
        return name
    return "UTC"


def _reached(settings: Settings) -> tuple[str, ...]:
    """The platforms where a message can be sent to a person who has not just asked for one."""
    names = [name for name in settings.platforms if name in platforms.CHANNELS]
    return tuple(name for name in names if platforms.plugin_of(name).test_message)


def _reviews(settings: Settings) -> tuple[int, int]:
    """After how many turns, and after how many calls, a conversation is looked back at."""
    turns = settings.memory.nudge_turns if settings.memory.enabled else 0
    return turns, settings.skills.nudge_calls
