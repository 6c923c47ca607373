"""hermes cron create: make a job, and read it back."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.cron.opening import OWNER, open_jobs
from hermes.cli.cron.printing import read_back
from hermes.cli.cron.proposal import proposed_schedule
from hermes.cli.cron.wishes import WishOptions, wish_of, wish_options
from hermes.cli.errors import DONE
from hermes.cli.gateway.service.lock import held
from hermes.core.errors import BadSchedule
from hermes.views.job_documents import brief_document
from hermes.views.jobs import JobView

if TYPE_CHECKING:
    from argparse import ArgumentParser

ASLEEP = "No gateway is running, so nothing runs yet. Start it with: hermes gateway start"


class CronCreateOptions(WishOptions):
    schedule: str


def _arguments(parser: "ArgumentParser") -> None:
    when = "every 2h · “every weekday at 07:00” · “0 7 * * 1-5” · “in 30m” · “at 2026-12-01T09:00”"
    parser.add_argument("schedule", metavar="SCHEDULE", help=f"when: {when}")
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="what is to be done")
    wish_options(parser)


async def run(options: CronCreateOptions, context: CliContext) -> int:
    async with open_jobs(context) as (acts, host):

        async def preview(schedule: str) -> JobView:
            return await acts.preview(host, wish_of(options, schedule), OWNER)

        try:
            await preview(options.schedule)
            schedule = options.schedule
        except BadSchedule:
            ask = not options.json
            schedule = await proposed_schedule(context, options.schedule, preview) if ask else ""
            if not schedule:
                raise
        act = acts.preview if options.dry_run else acts.create
        view = await act(host, wish_of(options, schedule), OWNER)
    if options.json:
        context.console.document(brief_document(view))
        return DONE
    read_back(context.console, view, "Nothing is made; it would be" if options.dry_run else "Made")
    if not options.dry_run and not held(context.home):
        context.console.tell(ASLEEP)
    return DONE


COMMAND = CliCommand(
    options=CronCreateOptions,
    run=run,
    arguments=_arguments,
    more="Without --deliver the answer goes to your home chat. Without a home chat it is kept in "
    "the folder schedules/ of your Hermes home.",
)
