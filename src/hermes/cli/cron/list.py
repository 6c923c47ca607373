"""hermes cron list: list jobs and when each runs next."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.cron.opening import open_jobs
from hermes.cli.errors import DONE
from hermes.cli.options import json_option
from hermes.views.job_documents import job_document
from hermes.views.job_words import time_in_words
from hermes.views.jobs import JobView

if TYPE_CHECKING:
    from argparse import ArgumentParser

NOTHING = 'No jobs yet. Make one with: hermes cron create "every weekday at 07:00" "What is new?"'
HEADINGS = ("ID", "NAME", "STATE", "NEXT", "RUNS")


class CronListOptions(JsonOptions):
    all: bool


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("--all", action="store_true", help="also removed ones and long done ones")
    json_option(parser)


async def run(options: CronListOptions, context: CliContext) -> int:
    async with open_jobs(context) as (acts, host):
        views = await acts.listed(host, every=options.all)
    if options.json:
        context.console.document([job_document(view) for view in views])
        return DONE
    own = [view for view in views if view.kind == "job"]
    if not own:
        context.console.tell(NOTHING)
    else:
        context.console.table(HEADINGS, [_row(view) for view in own])
    _say_system([view for view in views if view.kind == "system"], context)
    return DONE


def _row(view: JobView) -> tuple[str, ...]:
    after = time_in_words(view.next[0], view.zone) if view.next else "-"
    why = f" ({view.why})" if view.why else ""
    return (view.id, view.name, view.state, after, f"{view.words}{why}")


def _say_system(views: Sequence[JobView], context: CliContext) -> None:
    if views:
        context.console.say("")
        context.console.head("By itself")
    for view in views:
        context.console.say(f"  {view.name}: {view.words}")


COMMAND = CliCommand(options=CronListOptions, run=run, arguments=_arguments)
