"""hermes cron pause: pause a job."""

from hermes.cli.cron.one_job import one_job
from hermes.cli.cron.opening import OWNER

COMMAND = one_job(lambda jobs, name: jobs.acts.pause(jobs.host, name, OWNER), "Paused")
