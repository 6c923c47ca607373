"""hermes config edit: the file in the person's own editor, checked when they come back."""

import getpass
import shlex
import shutil
import subprocess
from collections.abc import Sequence

from hermes.cli.command import Nothing
from hermes.cli.errors import DONE, FAILED
from hermes.cli.files import saved
from hermes.cli.place import Place
from hermes.cli.service.questions import Questions
from hermes.core.errors import Misconfigured
from hermes.settings import prepare, survey
from hermes.settings.home import CONFIG

EDITORS = ("sensible-editor", "nano", "vim", "vi")
TEMPLATE = """\
# Settings of Hermes. What is not here has its default; `hermes config show` prints all of them,
# docs/CONFIGURATION.md says what each is for. Secrets belong into .env beside this file.

model:
  # provider: openrouter
  # name: …
"""


def run(_given: Nothing, place: Place) -> int:
    file = place.home / CONFIG
    editor = _editor(place)
    prepare(place.home)
    if not file.exists():
        saved(file, TEMPLATE.encode())
    while True:
        if (status := _opened(editor, str(file))) != 0:
            place.console.tell(f"The editor ended with status {status}")
            return FAILED
        _settings, problems = survey(place.home, place.environ)
        if not problems:
            place.console.tell(f"{file} is fine")
            return DONE
        if not _again(place, problems):
            raise problems[0]


def _opened(editor: list[str], file: str) -> int:
    try:
        return subprocess.run([*editor, file], check=False).returncode
    except OSError as missing:
        problem = f"“{editor[0]}” cannot be started ({missing.strerror})"
        raise Misconfigured("EDITOR", problem, "Set it to your editor") from missing


def _again(place: Place, problems: Sequence[Misconfigured]) -> bool:
    """Somebody at a terminal can mend it at once. What was written stays either way."""
    if not place.console.stdin.isatty():
        return False
    for problem in problems:
        place.console.tell(f"hermes: {problem}")
    questions = Questions(input, getpass.getpass, place.console.tell)
    try:
        return questions.agreed("Edit it again?", default=True)
    except EOFError:
        return False


def _editor(place: Place) -> list[str]:
    chosen = place.environ.get("VISUAL") or place.environ.get("EDITOR") or ""
    try:
        words = shlex.split(chosen)
    except ValueError as broken:
        raise Misconfigured("EDITOR", str(broken).lower(), "Set it to your editor") from broken
    if words:
        return words
    for name in EDITORS:
        if found := shutil.which(name):
            return [found]
    raise Misconfigured("EDITOR", "is not set and no editor was found", "Set it to your editor")
