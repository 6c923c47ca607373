"""hermes cron remove: remove a job."""

from hermes.cli.cron.one_job import one_job
from hermes.cli.cron.opening import OWNER

COMMAND = one_job(lambda jobs, name: jobs.acts.remove(jobs.host, name, OWNER), "Removed")
