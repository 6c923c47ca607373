"""hermes cron show: print everything about a job."""

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.cron.one_job import OneJobOptions, job_argument
from hermes.cli.cron.opening import open_jobs
from hermes.cli.cron.printing import read_back
from hermes.cli.errors import DONE
from hermes.views.job_documents import job_document
from hermes.views.jobs import JobView


async def run(options: OneJobOptions, context: CliContext) -> int:
    async with open_jobs(context) as (acts, host):
        view = await acts.show(host, options.job)
    if options.json:
        context.console.document(job_document(view))
        return DONE
    read_back(context.console, view, "Job")
    for label, text in _more(view):
        if text:
            context.console.say(f"  {label:<8} {text}")
    if view.prompt:
        context.console.say(f"\n{view.prompt}")
    return DONE


def _more(view: JobView) -> tuple[tuple[str, str], ...]:
    return (
        ("schedule", view.schedule),
        ("model", view.model),
        ("skills", ", ".join(view.skills)),
        ("tools", ", ".join(view.toolsets)),
        ("folder", view.workdir),
        ("script", view.script + (" (no model)" if view.no_agent else "")),
        ("reads", ", ".join(view.context_from)),
        ("repeats", str(view.repeat or "")),
        ("missed", view.missed),
        ("overlap", view.overlap),
        ("budget", f"{view.budget:,} tokens a run" if view.budget else ""),
        ("timeout", f"{view.timeout_s:g} s" if view.timeout_s else ""),
        ("made by", view.creator),
        ("version", str(view.version)),
    )


COMMAND = CliCommand(options=OneJobOptions, run=run, arguments=job_argument)
