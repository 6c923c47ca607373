"""Say what a job is, when it runs next and what its runs did, in a few lines for people."""

from collections.abc import Sequence

from hermes.core.schedule import local_time
from hermes.text.plurals import counted
from hermes.views.jobs import JobView, RunView
from hermes.views.schedule_words import span_in_words

PROMPT_CHARS_MAX = 300
WHY_CHARS_MAX = 200
RUNS = {
    "done": "done",
    "late": "done, late",
    "silent": "done, nothing to say",
    "failed": "failed",
    "skipped": "skipped",
    "waiting": "waits for your answer",
    "running": "running",
    "stopped": "stopped",
}


def time_in_words(instant: float, zone: str) -> str:
    """Return “Thu 19 Nov 2026, 07:00”, with seconds only if there are some."""
    at = local_time(instant, zone or "UTC")
    return f"{at:%a %d %b %Y, %H:%M:%S}" if at.second else f"{at:%a %d %b %Y, %H:%M}"


def next_in_words(job: JobView) -> str:
    """Return the next due times in the job's zone."""
    if job.state == "paused":
        return "It is paused, so it does not run."
    times = "; ".join(time_in_words(due, job.zone) for due in job.next)
    return f"Next: {times}." if times else "It does not run again."


def job_line(job: JobView, now: float) -> str:
    """Return one line of a list."""
    if job.state == "paused":
        state = f"paused{f' ({job.why})' if job.why else ''}"
    elif job.state == "active" and job.words.startswith("once"):
        return f"{job.name} ({job.id}): {job.words}"
    elif job.state == "active" and job.next:
        state = f"next in {span_in_words(max(0.0, job.next[0] - now))}"
    else:
        state = job.state
    return f"{job.name} ({job.id}): {job.words}; {state}"


def job_text(job: JobView, reader: str = "") -> str:
    """Return everything that a person wants to know of one job."""
    lines = [f"{job.name} ({job.id}): {job.words}", next_in_words(job)]
    if job.state == "paused" and job.why:
        lines[1] = f"It is paused: {job.why}"
    if job.prompt:
        lines.append(f"Task: {_cut(job.prompt, PROMPT_CHARS_MAX)}")
    if job.script:
        lines.append(f"Script: {job.script}" + (", without a model" if job.no_agent else ""))
    facts = {
        "Answers go to": ", ".join(job.deliver),
        "Model": job.model,
        "Skills": ", ".join(job.skills),
        "Toolsets": ", ".join(job.toolsets),
        "Folder": job.workdir,
        "Reads the answers of": ", ".join(job.context_from),
        "Runs at most": counted(job.repeat, "time") if job.repeat else "",
        "Budget of a run": counted(job.budget, "token") if job.budget else "",
        "Made by": job.creator if job.creator != reader else "",
    }
    return "\n".join([*lines, *(f"{name}: {fact}" for name, fact in facts.items() if fact)])


def run_line(run: RunView, zone: str) -> str:
    """Return one line of a job's history."""
    when = time_in_words(run.due, zone) if run.due is not None else "by hand"
    if run.due is None and run.began is not None:
        when = f"{time_in_words(run.began, zone)}, by hand"
    what = RUNS[run.state]
    if run.state == "skipped" and run.count > 1:
        what = f"{counted(run.count, 'run')} skipped"
    if run.began is not None and run.ended is not None and run.ended - run.began >= 1:
        what += f" in {span_in_words(run.ended - run.began)}"
    sent = ", sent" if run.delivered else ""
    why = f": {_cut(run.why, WHY_CHARS_MAX)}" if run.why else ""
    return f"{when}: {what}{sent}{why}"


def history_text(job: JobView, runs: Sequence[RunView]) -> str:
    if not runs:
        return f"{job.name} has not run yet. {next_in_words(job)}"
    return "\n".join(
        [f"The latest runs of {job.name}:", *(run_line(run, job.zone) for run in runs)]
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
