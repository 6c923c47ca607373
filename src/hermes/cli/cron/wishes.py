"""The options of `hermes cron create` and `edit`, and the wish that they make."""

from typing import TYPE_CHECKING, Literal

from hermes.cli.command import JsonOptions
from hermes.cli.options import json_option, number_to
from hermes.views.jobs import JobRequest

if TYPE_CHECKING:
    from argparse import ArgumentParser

MOST = 10**9


class WishOptions(JsonOptions):
    prompt: str | None
    name: str | None
    deliver: list[str] | None
    tz: str | None
    model: str | None
    skill: list[str] | None
    toolset: list[str] | None
    workdir: str | None
    script: str | None
    no_agent: bool | None
    context_from: list[str] | None
    repeat: int | None
    missed: Literal["once", "all", "skip"] | None
    overlap: Literal["skip", "queue"] | None
    budget: int | None
    timeout: float | None
    dry_run: bool


def wish_options(parser: "ArgumentParser") -> None:
    add = parser.add_argument
    add("--name", metavar="N", help="what to call it")
    where = "home, local, none, all, PLATFORM or PLATFORM:CHAT[:THREAD]; may be given again"
    add("--deliver", action="append", metavar="T", help=f"where the answer goes: {where}")
    add("--tz", metavar="Z", help="its time zone, for example Europe/Paris")
    add("--model", metavar="M", help="PROVIDER:MODEL instead of the usual one")
    add("--skill", action="append", metavar="S", help="a skill that it reads first")
    add("--toolset", action="append", metavar="T", help="only these tools; may be given again")
    add("--workdir", metavar="D", help="the folder that its commands run in")
    add("--script", metavar="F", help="a file in scripts/ that runs first")
    add("--no-agent", action="store_true", default=None, help="run the script and no model")
    add("--context-from", action="append", metavar="JOB", help="read that job's last answer first")
    add("--repeat", type=number_to(MOST), metavar="N", help="so many runs, then it is done")
    add("--missed", choices=("once", "all", "skip"), help="what to make up for after a pause")
    add("--overlap", choices=("skip", "queue"), help="when the run before is still running")
    add("--budget", type=number_to(MOST), metavar="TOKENS", help="the most that one run may use")
    add("--timeout", type=float, metavar="S", help="the most seconds that one run may take")
    add("--dry-run", action="store_true", help="only say when it would run")
    json_option(parser)


def wish_of(options: WishOptions, schedule: str | None) -> JobRequest:
    return JobRequest(
        schedule=schedule,
        prompt=options.prompt,
        name=options.name,
        deliver=_some(options.deliver),
        tz=options.tz,
        model=options.model,
        skills=_some(options.skill),
        toolsets=_some(options.toolset),
        workdir=options.workdir,
        script=options.script,
        no_agent=options.no_agent,
        context_from=_some(options.context_from),
        repeat=options.repeat,
        missed=options.missed,
        overlap=options.overlap,
        tokens_max=options.budget,
        timeout_s=options.timeout,
    )


def _some(words: list[str] | None) -> tuple[str, ...] | None:
    if words is None:
        return None
    return tuple(part.strip() for word in words for part in word.split(",") if part.strip())
