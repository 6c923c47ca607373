"""hermes config edit: the file in the person's own editor, checked when they come back."""

import shlex
import shutil
import subprocess

from hermes.cli.command import Nothing
from hermes.cli.errors import DONE, FAILED
from hermes.cli.files import whole_file
from hermes.cli.place import Place
from hermes.core.errors import Misconfigured
from hermes.settings import load, prepare
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
        whole_file(file, TEMPLATE.encode())
    try:
        ended = subprocess.run([*editor, str(file)], check=False)
    except OSError as missing:
        problem = f"“{editor[0]}” cannot be started ({missing.strerror})"
        raise Misconfigured("EDITOR", problem, "Set it to your editor") from missing
    if ended.returncode != 0:
        place.console.tell(f"The editor ended with status {ended.returncode}")
        return FAILED
    load(place.home, place.environ)
    place.console.tell(f"{file} is fine")
    return DONE


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
