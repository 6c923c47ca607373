"""hermes cron next: when a job, or every job, runs next. Nothing moves by looking."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.cron.opening import OpenJobs, open_jobs
from hermes.cli.errors import DONE
from hermes.cli.options import json_option, limit_option
from hermes.views.job_documents import zoned
from hermes.views.job_words import time_in_words

if TYPE_CHECKING:
    from argparse import ArgumentParser

NOTHING = "Nothing is due."


class CronNextOptions(JsonOptions):
    job: str | None
    limit: int


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("job", metavar="JOB", nargs="?", help="its id or its name; without it: all")
    limit_option(parser, "times")
    json_option(parser)


async def run(options: CronNextOptions, context: CliContext) -> int:
    async with open_jobs(context) as jobs:
        times = await _times(jobs, options)
    if options.json:
        context.console.document(
            [{"job": id_, "name": name, "at": zoned(at, zone)} for at, id_, name, zone in times]
        )
    elif not times:
        context.console.say(NOTHING)
    else:
        rows = [(time_in_words(at, zone), zone, id_, name) for at, id_, name, zone in times]
        context.console.table(("WHEN", "ZONE", "JOB", "NAME"), rows)
    return DONE


async def _times(jobs: OpenJobs, options: CronNextOptions) -> list[tuple[float, str, str, str]]:
    acts, host = jobs
    if options.job is not None:
        views = [await acts.show(host, options.job)]
    else:
        views = [view for view in await acts.listed(host) if view.state == "active"]
    found: list[tuple[float, str, str, str]] = []
    for view in views:
        if view.kind == "job" and view.state == "active":
            dues = await acts.upcoming(host, view.id, limit=options.limit)
            found += [(at, view.id, view.name, view.zone) for at in dues]
    return sorted(found)[: options.limit]


COMMAND = CliCommand(options=CronNextOptions, run=run, arguments=_arguments)
