"""hermes cron edit: change a job; what is not named stays as it is."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.cron.opening import OWNER, open_jobs
from hermes.cli.cron.printing import read_back
from hermes.cli.cron.wishes import MOST, WishOptions, wish_of, wish_options
from hermes.cli.errors import DONE
from hermes.cli.options import number_to
from hermes.views.job_documents import brief_document

if TYPE_CHECKING:
    from argparse import ArgumentParser


class CronEditOptions(WishOptions):
    job: str
    schedule: str | None
    version: int | None


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("job", metavar="JOB", help="its id or its name")
    parser.add_argument("--schedule", metavar="SCHEDULE", help="when it runs from now on")
    parser.add_argument("--prompt", metavar="PROMPT", help="what is to be done")
    parser.add_argument(
        "--version", type=number_to(MOST), metavar="N", help="only if it still has this version"
    )
    wish_options(parser)


async def run(options: CronEditOptions, context: CliContext) -> int:
    wish = wish_of(options, options.schedule)
    async with open_jobs(context) as (acts, host):
        version, dry_run = options.version, options.dry_run
        view = await acts.edit(host, options.job, wish, OWNER, version=version, dry_run=dry_run)
    if options.json:
        context.console.document(brief_document(view))
        return DONE
    said = "Nothing is changed; it would be" if options.dry_run else "Changed"
    read_back(context.console, view, said)
    return DONE


COMMAND = CliCommand(options=CronEditOptions, run=run, arguments=_arguments)
