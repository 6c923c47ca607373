"""A schedule that the grammar cannot read: a model proposes one, and a person says yes or no."""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from hermes.cli.context import CliContext
from hermes.core.errors import BadSchedule, Misconfigured, ProviderFailed
from hermes.lazy import LazyModule
from hermes.views.jobs import JobView

if TYPE_CHECKING:
    from hermes.app import models as app_models
else:
    app_models = LazyModule("hermes.app.models")

TEXT_CHARS_MAX = 200
QUESTION = (
    "Write this as one schedule, in one of these forms: every 2h | in 30m | at YYYY-MM-DDTHH:MM | "
    "a cron expression with five fields. Answer with the schedule alone, or with NONE when it "
    "cannot be written so. It is {now} now.\n\n{text}"
)


async def proposed_schedule(
    context: CliContext, text: str, preview: Callable[[str], Awaitable[JobView]]
) -> str:
    """Return the schedule that the person agreed to; "" if they agreed to no schedule. `preview`
    checks a proposal and raises BadSchedule."""
    if not context.console.stdin.isatty():
        return ""
    now = time.strftime("%A, %Y-%m-%dT%H:%M", time.localtime(context.clock()))
    question = QUESTION.format(now=now, text=text[:TEXT_CHARS_MAX])
    try:
        answer = await app_models.tried(context.settings(), question)
        schedule = read_proposal(answer.text)
        view = await preview(schedule) if schedule else None
    except (BadSchedule, Misconfigured, ProviderFailed):
        return ""
    if view is None:
        return ""
    console = context.console
    console.stderr.write(f"Did you mean: {view.words}? [y/N] ")
    console.stderr.flush()
    return schedule if console.stdin.readline().strip().lower() in ("y", "yes") else ""


def read_proposal(text: str) -> str:
    """Return the schedule in a model's answer; "" when it gave none."""
    lines = [line.strip().strip("`\"'").strip() for line in text.strip().splitlines()]
    found = [line for line in lines if line and not line.startswith("```")]
    said = found[0][:TEXT_CHARS_MAX] if found else ""
    return "" if said.upper().startswith("NONE") else said
