"""hermes tour: two minutes with Hermes before any model is set up.

The program is real: a scratch home, real chats, a real gateway that is killed. Only the model is a
script, so the tour needs no key and no network, and touches nothing of the person's own.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.errors import DONE
from hermes.cli.registry import FAMILIES
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    import json
    import subprocess
    import tempfile

    from hermes.cli.context import CliContext
    from hermes.cli.demo import crash
    from hermes.settings import home as home_folder
else:
    json = LazyModule("json")
    subprocess = LazyModule("subprocess")
    tempfile = LazyModule("tempfile")
    crash = LazyModule("hermes.cli.demo.crash")
    home_folder = LazyModule("hermes.settings.home")

PROGRAM = (sys.executable, "-I", "-m", "hermes")
SCHEDULE = "cron"
QUESTION = "What can you do for me?"
ANSWER = (
    "I read and write files, run commands, remember what you tell me, and answer you here, in a "
    "chat app or over HTTP. I ask before I do something that cannot be undone. And I do not lose "
    "my place: you will see."
)
TIDYING = "Which of my notes is empty? Delete it."
LOOKING = "I look for it."
DELETING = "ideas.txt is empty. I delete it, if you agree."
DONE_TEXT = "Done: ideas.txt is gone, and shopping.txt is as it was."
MORNING = "Tell me what changed in this folder since yesterday."
NOTES = {"shopping.txt": "milk\nbread\n", "ideas.txt": ""}
CHUNK_S = 0.03


class TourOptions:
    """The tour takes no options."""


def run(_options: TourOptions, context: "CliContext") -> int:
    show(context)
    return DONE


def show(context: "CliContext") -> bool:
    """Show the tour. Return False if the person ended it early."""
    console = context.console
    console.head("A tour of Hermes: four scenes, about two minutes")
    console.say("The model answers by a script: no key, no network. Nothing of yours is touched.\n")
    with tempfile.TemporaryDirectory(prefix="hermes-", ignore_cleanup_errors=True) as folder:
        scenes = TourScenes(context, Path(folder))
        for n, (title, play) in enumerate(scenes.listed(), start=1):
            if n > 1 and not _goes_on(context):
                return False
            console.head(f"\n{n}. {title}")
            play()
    console.advise(
        "\nThat was the tour. Next:\n"
        "  hermes               choose a model and talk\n"
        "  hermes gateway setup talk from a chat app\n"
        "  hermes --help        everything else"
    )
    return True


class TourScenes:
    """The scenes, on a scratch home."""

    def __init__(self, context: "CliContext", folder: Path) -> None:
        self._context = context
        self._asks = context.console.stdin.isatty() and context.console.stderr.isatty()
        self._home = folder / "home"
        self._place = self._home / "workspace"
        home_folder.prepare(self._home)
        self._place.mkdir()
        for name, text in NOTES.items():
            (self._place / name).write_text(text, encoding="utf-8")
        script = folder / "script.json"
        script.write_text(json.dumps(_script()), encoding="utf-8")
        settings = {
            "model": {"provider": "scripted", "name": str(script)},
            "terminal": {"workdir": str(self._place)},
            "approvals": {"mode": "ask" if self._asks else "allow"},
        }
        (self._home / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")

    def listed(self) -> Sequence[tuple[str, Callable[[], None]]]:
        return (
            ("A question", self.question),
            ("A tool call, and a card that asks you first", self.card),
            ("A kill in the middle of the work", self.kill),
            ("A schedule: work that comes by itself", self.schedule),
        )

    def question(self) -> None:
        self._chat(QUESTION)

    def card(self) -> None:
        asked = "It asks you: answer with y or n." if self._asks else "At a terminal it asks first."
        self._say(f"The folder has two notes. Reading needs no question; deleting does. {asked}\n")
        self._chat(TIDYING)

    def kill(self) -> None:
        self._say("Any program can be killed: a power cut, an update, kill -9. Watch this turn.\n")
        crash.run(crash.COMMAND.parse([]), self._context)

    def schedule(self) -> None:
        self._say(
            "A schedule is a clock that sends messages. Ask for one in a chat (“every weekday at "
            "eight, tell me what changed in this folder”), and each run is a turn like any other: "
            "it survives a crash, and its answer goes where you want it.\n"
        )
        if SCHEDULE in FAMILIES:
            self._run(SCHEDULE, "create", "0 8 * * 1-5", MORNING, "--dry-run")

    def _say(self, text: str) -> None:
        self._context.console.say(text)

    def _chat(self, text: str) -> None:
        console = self._context.console
        console.write(f"> {text}\n")
        self._run("chat", "--session", "tour", "-q", text)

    def _run(self, *words: str) -> None:
        """Run the real program on the scratch home, in this terminal."""
        console = self._context.console
        console.stdout.flush()
        console.stderr.flush()
        kept = {
            name: text
            for name, text in self._context.environ.items()
            if not name.startswith("HERMES_")
        }
        stdin = None if self._asks else subprocess.DEVNULL
        subprocess.run(
            [*PROGRAM, *words],
            env={**kept, "HERMES_HOME": str(self._home)},
            cwd=self._place,
            stdin=stdin,
            check=False,
        )


def _goes_on(context: "CliContext") -> bool:
    """Let the person read. Return False if they have seen enough."""
    console = context.console
    if not (console.stdin.isatty() and console.stderr.isatty()):
        return True
    console.stderr.write(console.dim("\nEnter continues, q leaves: "))
    console.stderr.flush()
    typed = console.stdin.readline()
    return bool(typed) and typed.strip().lower() not in ("q", "quit", "exit", "leave")


def _script() -> list[dict[str, object]]:
    look = {"tool": "terminal", "arguments": {"command": "wc -c *.txt"}}
    delete = {"tool": "terminal", "arguments": {"command": "rm ideas.txt"}}
    return [
        {
            "match": "^Which of my notes",
            "steps": [
                {"text": LOOKING, "calls": [look], "chunk_s": CHUNK_S},
                {"text": DELETING, "calls": [delete], "chunk_s": CHUNK_S},
                {"text": DONE_TEXT, "chunk_s": CHUNK_S},
            ],
        },
        {"match": "", "steps": [{"text": ANSWER, "chunk_s": CHUNK_S}]},
    ]


COMMAND = CliCommand(
    options=TourOptions,
    run=run,
    more="""A real gateway and real chats on a scratch home, with a model that answers by
script: no key, no network, and nothing of yours is read or written.""",
)
