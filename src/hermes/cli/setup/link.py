"""Offer to make `hermes` a command, by a link in ~/.local/bin to the launcher of this clone.

A file of another program under that name stays.
"""

import os
from pathlib import Path

from hermes.cli.context import CliContext
from hermes.cli.output.questions import Questions
from hermes.installed import checkout, on_path, program_name, started_by_launcher

FOLDER, NAME = ".local/bin", "hermes"
SHOWN = f"~/{FOLDER}"
ON_PATH = f'export PATH="$HOME/{FOLDER}:$PATH"'


def offer_link(context: CliContext, questions: Questions) -> None:
    """Ask a person who called the clone's launcher by its path, and only them."""
    root, home = checkout(), context.environ.get("HOME", "")
    if root is None or not home or not started_by_launcher():
        return
    if program_name(context.environ) == NAME:
        return
    link = Path(home, FOLDER, NAME)
    if os.path.lexists(link):
        if _leads_to(link, root / NAME):
            _tell_path(context, questions, link)
        else:
            questions.tell(f"{SHOWN}/{NAME} is another program and stays as it is.")
            questions.tell(f"This one is called {program_name(context.environ)}.")
        return
    if questions.agreed(f"Add the command `hermes` (a link in {SHOWN})?", default=True):
        _make(context, questions, root / NAME, link)


def _make(context: CliContext, questions: Questions, launcher: Path, link: Path) -> None:
    try:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(launcher)  # fails when the name is taken meanwhile
    except OSError as refused:
        questions.tell(f"The link could not be made: {link} ({refused.strerror}).")
        return
    _tell_path(context, questions, link)


def _tell_path(context: CliContext, questions: Questions, link: Path) -> None:
    """Tell whether the shell finds the command now, or what prevents that."""
    found = on_path(context.environ)
    folders = context.environ.get("PATH", os.defpath).split(os.pathsep)
    if found and _leads_to(Path(found), link):
        questions.tell("Done: from any folder, type hermes.")
    elif any(folder and _leads_to(Path(folder), link.parent) for folder in folders):
        questions.tell(f"The link is there, but {found} comes first on your PATH.")
    else:
        questions.tell(f"The link is there, but {SHOWN} is not on your PATH.")
        questions.tell("Add this line to ~/.profile, then open a new terminal:")
        questions.tell(f"  {ON_PATH}")


def _leads_to(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
