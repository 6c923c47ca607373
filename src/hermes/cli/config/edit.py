"""hermes config edit: open the file in the person's editor, and check it afterwards."""

import getpass
import shlex
import shutil
import subprocess
from collections.abc import Sequence

from hermes.cli.command import CliCommand, NoOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, FAILED
from hermes.cli.output.files import saved
from hermes.cli.output.questions import Questions
from hermes.core.errors import Misconfigured
from hermes.settings import prepare, survey
from hermes.settings.home import CONFIG

EDITORS = ("sensible-editor", "nano", "vim", "vi")
TEMPLATE = """\
# Settings of Hermes. What is not here has its default; `hermes config show` prints all of them,
# docs/CONFIGURATION.md says what each is for. Secrets go into .env in the same folder.

model:
  # provider: openrouter
  # name: …
"""


def run(_options: NoOptions, context: CliContext) -> int:
    file = context.home / CONFIG
    editor = _editor(context)
    prepare(context.home)
    if not file.exists():
        saved(file, TEMPLATE.encode())
    while True:
        if (status := _open_editor(editor, str(file))) != 0:
            context.console.tell(f"The editor ended with status {status}")
            return FAILED
        _settings, problems = survey(context.home, context.environ)
        if not problems:
            context.console.tell(f"{file} is fine")
            return DONE
        if not _again(context, problems):
            raise problems[0]


def _open_editor(editor: list[str], file: str) -> int:
    try:
        return subprocess.run([*editor, file], check=False).returncode
    except OSError as missing:
        problem = f"“{editor[0]}” cannot be started ({missing.strerror})"
        raise Misconfigured("EDITOR", problem, "Set it to your editor") from missing


def _again(context: CliContext, problems: Sequence[Misconfigured]) -> bool:
    """Return True if the person at the terminal wants to edit again. The written file stays either
    way."""
    if not context.console.stdin.isatty():
        return False
    for problem in problems:
        context.console.tell(f"hermes: {problem}")
    questions = Questions(input, getpass.getpass, context.console.tell)
    try:
        return questions.agreed("Edit it again?", default=True)
    except EOFError:
        return False


def _editor(context: CliContext) -> list[str]:
    chosen = context.environ.get("VISUAL") or context.environ.get("EDITOR") or ""
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


COMMAND = CliCommand(
    options=NoOptions,
    run=run,
)
