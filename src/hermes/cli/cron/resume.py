"""hermes cron resume: resume a job."""

from hermes.cli.cron.one_job import one_job
from hermes.cli.cron.opening import OWNER

COMMAND = one_job(lambda jobs, name: jobs.acts.resume(jobs.host, name, OWNER), "Resumed")
