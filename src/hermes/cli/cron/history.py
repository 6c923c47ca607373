"""hermes cron history: what each run did, and what was skipped and why."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.cron.one_job import OneJobOptions, job_argument
from hermes.cli.cron.opening import open_jobs
from hermes.cli.errors import DONE
from hermes.cli.options import limit_option
from hermes.cli.output.times import took
from hermes.cli.turns.show import TurnsShowOptions
from hermes.cli.turns.show import run as show_turn
from hermes.core.errors import Rejected
from hermes.views.job_documents import run_document
from hermes.views.job_words import time_in_words
from hermes.views.jobs import RunView

if TYPE_CHECKING:
    from argparse import ArgumentParser

NOTHING = "It has not run yet"
HEADINGS = ("DUE", "STATE", "TOOK", "TURN", "WHY OR WHERE")


class CronHistoryOptions(OneJobOptions):
    limit: int
    turn: str | None


def _arguments(parser: "ArgumentParser") -> None:
    job_argument(parser)
    limit_option(parser, "runs")
    parser.add_argument(
        "--turn", nargs="?", const="", metavar="TURN", help="every step of that run; else the last"
    )


async def run(options: CronHistoryOptions, context: CliContext) -> int:
    async with open_jobs(context) as (acts, host):
        runs = await acts.history(host, options.job, limit=options.limit)
        zone = (await acts.show(host, options.job)).zone
    if options.turn is not None:
        turn = options.turn or next((each.turn for each in runs if each.turn), "")
        if not turn:
            raise Rejected(NOTHING)
        return await show_turn(turn_options(turn, json=options.json), context)
    if options.json:
        context.console.document([run_document(each) for each in runs])
    elif not runs:
        context.console.say(f"{NOTHING}.")
    else:
        context.console.table(HEADINGS, [_row(each, zone) for each in runs])
        context.console.advise("hermes turns show TURN prints every step of a run")
    return DONE


def turn_options(turn: str, *, json: bool) -> TurnsShowOptions:
    options = TurnsShowOptions()
    options.name, options.json = turn, json
    return options


def _row(run: RunView, zone: str) -> tuple[str, ...]:
    due = time_in_words(run.due, zone) if run.due is not None else "by hand"
    time = took(run.ended - run.began) if run.ended is not None and run.began is not None else ""
    times = f"{run.count} times: " if run.count > 1 else ""
    where = ", ".join(f"{each.to} ({each.state})" for each in run.targets)
    return (due, run.state, time, run.turn, f"{times}{run.why}" if run.why else where)


COMMAND = CliCommand(options=CronHistoryOptions, run=run, arguments=_arguments)
