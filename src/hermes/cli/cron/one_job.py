"""Shared by cron commands that do one thing to one job."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.cron.opening import OpenJobs, open_jobs
from hermes.cli.cron.printing import read_back
from hermes.cli.errors import DONE
from hermes.cli.options import json_option
from hermes.views.job_documents import job_document
from hermes.views.jobs import JobView

if TYPE_CHECKING:
    from argparse import ArgumentParser


class OneJobOptions(JsonOptions):
    job: str


def job_argument(parser: "ArgumentParser") -> None:
    parser.add_argument("job", metavar="JOB", help="its id or its name")
    json_option(parser)


def one_job(
    act: Callable[[OpenJobs, str], Awaitable[JobView]], said: str
) -> CliCommand[OneJobOptions]:
    """Return a command that does this to the job and says what it is now."""

    async def run(options: OneJobOptions, context: CliContext) -> int:
        async with open_jobs(context) as jobs:
            view = await act(jobs, options.job)
        if options.json:
            context.console.document(job_document(view))
        else:
            read_back(context.console, view, said)
        return DONE

    return CliCommand(options=OneJobOptions, run=run, arguments=job_argument)
