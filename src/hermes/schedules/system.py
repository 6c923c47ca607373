"""What Hermes does by itself and not by a job: shown with the jobs, so that nothing is hidden."""

from pathlib import Path

from hermes.views.jobs import JobView


def system_jobs(home: Path, *, reviews: tuple[int, int]) -> tuple[JobView, ...]:
    """Return BOOT.md, if there is one, and the reviews of conversations, if they are on."""
    found: list[JobView] = []
    if (home / "BOOT.md").is_file():
        words = "whenever the gateway starts"
        found.append(_shown("boot", "BOOT.md", "at every start", words, ("home",)))
    turns, calls = reviews
    if turns:
        words = f"after every {turns} answered turns of a conversation (memory.nudge_turns)"
        found.append(_shown("memory-review", "Memory review", f"every {turns} turns", words))
    if calls:
        words = f"after a turn with {calls} calls or more (skills.nudge_calls)"
        found.append(_shown("skill-review", "Skill review", f"every {calls} calls", words))
    return tuple(found)


def _shown(
    id_: str, name: str, schedule: str, words: str, deliver: tuple[str, ...] = ("none",)
) -> JobView:
    return JobView(
        id=id_, name=name, schedule=schedule, words=words, deliver=deliver, kind="system"
    )
