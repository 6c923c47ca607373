"""Shared by the cron commands: read a job back to the person."""

from hermes.cli.output.console import Console
from hermes.views.job_words import time_in_words
from hermes.views.jobs import JobView


def read_back(console: Console, view: JobView, said: str) -> None:
    """Say what the job is now: the schedule in words, and its next times in its zone."""
    console.say(f"{said}: {view.name} ({view.id})")
    console.say(f"  runs     {view.words}")
    for number, at in enumerate(view.next):
        console.say(f"  {'next   ' if not number else '       '}  {time_in_words(at, view.zone)}")
    if view.next:
        console.say(f"  zone     {view.zone}")
    console.say(f"  answers  {', '.join(view.deliver)}")
    if view.state != "active":
        why = f": {view.why}" if view.why else ""
        console.say(f"  state    {view.state}{why}")
