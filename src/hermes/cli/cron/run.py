"""hermes cron run: let a job run now, in the gateway; --wait follows it to its end."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.cron.create import ASLEEP
from hermes.cli.cron.one_job import OneJobOptions, job_argument
from hermes.cli.cron.opening import OWNER, OpenJobs, open_jobs
from hermes.cli.errors import DONE, FAILED
from hermes.cli.gateway.service.lock import held
from hermes.cli.lookup.store import events_of
from hermes.core.errors import Rejected
from hermes.core.events import MessageDropped, TurnEnded, TurnInterrupted, TurnStarted
from hermes.core.jobs import SCHEDULE, job_key
from hermes.views.job_documents import run_document
from hermes.views.jobs import RunView

if TYPE_CHECKING:
    from argparse import ArgumentParser

LOOK_S = 1.0
RUNS_LOOKED_AT = 50


class CronRunOptions(OneJobOptions):
    wait: bool


def _arguments(parser: "ArgumentParser") -> None:
    job_argument(parser)
    parser.add_argument("--wait", action="store_true", help="until it has ended")


async def run(options: CronRunOptions, context: CliContext) -> int:
    awake = held(context.home)
    async with open_jobs(context) as jobs:
        job = await jobs.acts.show(jobs.host, options.job)
        if options.wait and not awake:
            raise Rejected("there is no gateway that could run it. Start it: hermes gateway start")
        message = await jobs.acts.run(jobs.host, job.id, OWNER)
        ended = await _ended(jobs, job.id, message) if options.wait else None
    if options.json:
        run_ = run_document(ended) if ended is not None else None
        context.console.document({"job": job.id, "message": message, "run": run_})
    elif ended is None:
        context.console.say(f"{job.name} ({job.id}) runs now.")
    else:
        why = f": {ended.why}" if ended.why else ""
        context.console.say(f"{job.name} ({job.id}): {ended.state}{why}")
    if not awake:
        context.console.tell(ASLEEP)
    return FAILED if ended is not None and ended.state in ("failed", "stopped") else DONE


async def _ended(jobs: OpenJobs, job: str, message: str) -> RunView | None:
    """Return the run when it is over; None when its message was dropped."""
    store, key, name = jobs.host.store, job_key(job), f"{SCHEDULE}#{message}"
    after, turn = 0, ""
    while True:
        async for event in events_of(store, key, after):
            after += 1
            if isinstance(event, MessageDropped) and event.message == name:
                return None
            if isinstance(event, TurnStarted) and name in event.messages:
                turn = event.turn
            if isinstance(event, TurnEnded | TurnInterrupted) and event.turn == turn:
                runs = await jobs.acts.history(jobs.host, job, limit=RUNS_LOOKED_AT)
                return next((run for run in runs if run.turn == turn), None)
        await store.nodes.wake(LOOK_S)


COMMAND = CliCommand(options=CronRunOptions, run=run, arguments=_arguments)
