"""`/cron` is the owner's: what runs by itself has nobody who watches it."""

from typing import cast

from hermes.commands.cron import cron_command
from hermes.core.people import Role
from hermes.views.jobs import JobActs


def test_a21_people_who_were_let_in_make_no_jobs() -> None:
    assert cron_command(cast("JobActs", None)).least is Role.OWNER
