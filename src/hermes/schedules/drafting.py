"""From a wish to a job's definition: everything in it is checked before anything is made."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TypeVar
from zoneinfo import available_timezones

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.directory import HOME
from hermes.core.errors import BadSchedule, Misconfigured, Rejected
from hermes.core.jobs import Job
from hermes.core.messages import sound
from hermes.core.principal import Address
from hermes.core.schedule import Schedule, shortest_gap, zone_of
from hermes.core.store import ChatRow, Home
from hermes.schedules.rules import SCRIPT_STEP_S_MIN, JobRules
from hermes.schedules.scripts import digest_of_script
from hermes.schedules.targets import ORIGIN, resolved
from hermes.text.similar import likely
from hermes.views.jobs import JobAuthor, JobRequest
from hermes.views.schedule_text import parse_schedule
from hermes.views.schedule_words import span_in_words

T = TypeVar("T")

NEVER = Schedule(text="", kind="once", zone="UTC", anchor=0.0)
PROMPT_CHARS_MAX = 20_000
NAME_CHARS_MAX = 80
NAMES_MAX = 20  # skills, toolsets or jobs that one job may name


class Directory(Struct, frozen=True):
    """What can be named: chats, homes, and other jobs by their ids."""

    chats: Sequence[ChatRow]
    homes: Sequence[Home]
    jobs: Sequence[str]


def drafted(
    wanted: JobRequest,
    before: Job | None,
    id_: str,
    author: JobAuthor,
    rules: JobRules,
    known: Directory,
    now: float,
) -> Job:
    """Return the definition. Raise Rejected with the fix for whatever is wrong with it."""
    base = before or Job(
        id=id_,
        name="",
        schedule=NEVER,
        creator=author.by,
        principal=author.principal,
        missed=rules.missed,
        version=0,
        created_at=now,
    )
    no_agent = _either(wanted.no_agent, base.no_agent)
    prompt = rules.clean(sound(_either(wanted.prompt, base.prompt))).strip()
    script = _either(wanted.script, base.script).strip()
    words, addresses = _targets(wanted, before, author, rules, known)
    job = replace(
        base,
        name=_name(_either(wanted.name, base.name), prompt, script),
        schedule=_schedule(wanted, before, rules, now, no_agent),
        prompt=prompt,
        deliver=words,
        addresses=addresses,
        model=_model(_either(wanted.model, base.model), rules),
        skills=_skills(_either(wanted.skills, base.skills), rules),
        toolsets=_toolsets(_either(wanted.toolsets, base.toolsets), rules),
        workdir=_workdir(_either(wanted.workdir, base.workdir)),
        script=script,
        digest=digest_of_script(script, rules.scripts) if script else "",
        no_agent=no_agent,
        context_from=_jobs(_either(wanted.context_from, base.context_from), known),
        attach=_either(wanted.attach, base.attach),
        repeat=_either(wanted.repeat, base.repeat),
        missed=_either(wanted.missed, base.missed),
        overlap=_either(wanted.overlap, base.overlap),
        tokens_max=_either(wanted.tokens_max, base.tokens_max),
        timeout_s=_either(wanted.timeout_s, base.timeout_s),
        labels=tuple(dict.fromkeys((*base.labels, *author.labels))),
        version=base.version + 1,
    )
    _demand_whole(job, rules)
    return job


def _either(value: T | None, usual: T) -> T:
    return usual if value is None else value


def _schedule(
    wanted: JobRequest, before: Job | None, rules: JobRules, now: float, no_agent: bool
) -> Schedule:
    zone = wanted.tz or (before.schedule.zone if before else rules.zone)
    _demand_zone(zone)
    text = wanted.schedule
    if text is None and before is not None:
        if wanted.tz is None or wanted.tz == before.schedule.zone:
            return before.schedule
        text = before.schedule.text
    if text is None:
        raise BadSchedule("Say when the job runs, for example: every weekday at 07:00")
    return parse_schedule(text, now=now, zone=zone, seconds=no_agent)


def _demand_zone(name: str) -> None:
    try:
        zone_of(name)
    except BadSchedule as unknown:
        near = likely(name, available_timezones())
        raise BadSchedule(f"{unknown}{f' Did you mean “{near[0]}”?' if near else ''}") from None


def _targets(
    wanted: JobRequest, before: Job | None, author: JobAuthor, rules: JobRules, known: Directory
) -> tuple[tuple[str, ...], tuple[Address, ...]]:
    if wanted.deliver is None and before is not None:
        return before.deliver, before.addresses
    words = wanted.deliver or ((ORIGIN,) if author.origin is not None else (HOME,))
    if author.origin is not None and author.origin.platform not in rules.platforms:
        words = tuple(HOME if word == ORIGIN else word for word in words)  # nothing can be sent
    return resolved(words, author.origin, known.chats, known.homes, rules.platforms)


def _name(given: str, prompt: str, script: str) -> str:
    line = " ".join(sound(given or " ".join(prompt.split()[:6]) or script).split())
    shown = "".join(each if each.isprintable() else " " for each in line)
    return shown[:NAME_CHARS_MAX].strip() or "job"


def _model(name: str, rules: JobRules) -> str:
    if not name:
        return ""
    try:
        return rules.model(name)
    except (Misconfigured, Rejected) as wrong:
        raise Rejected(f"model: {wrong}") from wrong


def _skills(names: Sequence[str], rules: JobRules) -> tuple[str, ...]:
    return _named(names, rules.skills() if names else (), "skill", "hermes skills list shows them")


def _toolsets(names: Sequence[str], rules: JobRules) -> tuple[str, ...]:
    return _named(names, rules.toolsets, "toolset", f"Choose from: {', '.join(rules.toolsets)}")


def _jobs(names: Sequence[str], known: Directory) -> tuple[str, ...]:
    return _named(names, known.jobs, "job", "hermes cron list shows the ids")


def _named(names: Sequence[str], known: Collection[str], what: str, fix: str) -> tuple[str, ...]:
    if len(names) > NAMES_MAX:
        raise Rejected(f"at most {NAMES_MAX} {what}s for one job")
    for name in names:
        if name not in known:
            near = likely(name, known)
            hint = f" Did you mean “{near[0]}”?" if near else ""
            raise Rejected(f"there is no {what} “{name}”.{hint} {fix}")
    return tuple(dict.fromkeys(names))


def _workdir(text: str) -> str:
    if not text:
        return ""
    folder = Path(text).expanduser()
    if not folder.is_absolute() or not folder.is_dir():
        raise Rejected(f"workdir: {text} is not a folder. Give the whole path of one that is there")
    return str(folder)


def _demand_whole(job: Job, rules: JobRules) -> None:
    if job.no_agent and not job.script:
        raise Rejected("a job without a model needs a script: --script FILE")
    if not job.prompt and not job.script:
        raise Rejected("say what the job is to do: a prompt, a script, or both")
    if not job.prompt and not job.no_agent:
        raise Rejected(
            "a script for a model needs a prompt. To run the script alone, use --no-agent"
        )
    if len(job.prompt) > PROMPT_CHARS_MAX:
        raise Rejected(f"the prompt is longer than {PROMPT_CHARS_MAX:,} characters; write a skill")
    if job.repeat < 0 or job.tokens_max < 0 or job.timeout_s < 0:
        raise Rejected("repeat, budget and timeout are numbers of 0 or more; 0 means no limit")
    if job.id in job.context_from:
        raise Rejected("context_from: a job cannot wait for its own answer")
    gap = shortest_gap(job.schedule)
    least = SCRIPT_STEP_S_MIN if job.no_agent else rules.step_s_min
    if gap is not None and gap < least:
        raise BadSchedule(
            f"“{job.schedule.text}” runs every {span_in_words(gap)}, and the least is "
            f"{span_in_words(least)} (schedules.min_interval_s). Choose a longer interval."
        )
