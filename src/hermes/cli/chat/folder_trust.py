"""Ask the owner once whether to trust the instruction files of the folder that was opened."""

import select
from io import UnsupportedOperation
from pathlib import Path

from hermes.app.prompts import folder_to_trust
from hermes.cli.context import CliContext
from hermes.core.errors import StoreFailed
from hermes.settings import Settings
from hermes.text.visible_text import visible_text
from hermes.views.folder_trust import FolderAnswer, keep_answer

NAMES_MAX = 6
EXPLAINED = (
    "Did you write this, or do you trust who did? With yes I follow it as your own words.",
    "With no I read it as other people's text, and ask you before I change or send things.",
)
TRUSTED = "I trust this folder from the next conversation on. If these files change, I ask again."
NOT_TRUSTED = "I take it as other people's text. To change that: hermes approvals grants"
LATER = "I will ask again next time."


def ask_about_folder(context: CliContext, settings: Settings) -> None:
    """Ask at a terminal, before anything is typed. An answer other than yes or no is not stored, so
    the next start asks again."""
    console = context.console
    if not console.stdin.isatty() or not console.stdout.isatty() or _typed_ahead(context):
        return
    folder = Path(settings.terminal.workdir or Path.cwd()).expanduser()
    asked = folder_to_trust(context.home, settings, folder)
    if asked is None:
        return
    names = ", ".join(map(visible_text, asked.shown[:NAMES_MAX]))
    more = f" and {len(asked.shown) - NAMES_MAX} more" if len(asked.shown) > NAMES_MAX else ""
    console.say(f"{visible_text(str(asked.folder))} has instructions for me: {names}{more}")
    for line in EXPLAINED:
        console.say(line)
    console.write("Trust this folder? [y/n, Enter asks again next time] ")
    answer = console.stdin.readline().strip().lower()
    trusted = answer in ("y", "yes")
    if not trusted and answer not in ("n", "no"):
        console.say(LATER)
        return
    kept = FolderAnswer(
        folder=str(asked.folder), trusted=trusted, files=asked.files, at=context.clock()
    )
    try:
        keep_answer(context.home, kept)
    except StoreFailed as failed:
        console.tell(f"hermes: I could not keep your answer: {failed}")
        return
    console.say(TRUSTED if trusted else NOT_TRUSTED)


def _typed_ahead(context: CliContext) -> bool:
    """Return True if keys were typed before the question: they must not answer it."""
    try:
        ready, _, _ = select.select([context.console.stdin], [], [], 0)
    except (OSError, ValueError, UnsupportedOperation):
        return True
    return bool(ready)
