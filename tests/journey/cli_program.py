"""The real program as a child process, with its own home and a scripted model."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SRC = Path(__file__).parents[2] / "src"
PATIENCE_S = 60.0
UNSET = "(unset)"  # in `Program.environ`: leave this variable out
SCRIPT = [
    {
        "match": "^slow",
        "steps": [
            {
                "text": "I look.",
                "calls": [{"tool": "terminal", "arguments": {"command": "sleep 30"}}],
            },
            {"text": "It is over."},
        ],
    },
    {
        "match": "^run (.*)",
        "steps": [
            {"text": "I run it.", "calls": [{"tool": "terminal", "arguments": {"command": "{1}"}}]},
            {"text": "It said: {result}"},
        ],
    },
    {"match": "^fail", "steps": [{"error": "denied", "text": "The key was refused."}]},
    {"match": "^wait", "steps": [{"text": "Late.", "delay_s": 1.0}]},
    {"match": "", "steps": [{"text": "You said: {last}"}]},
]


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@dataclass
class Program:
    """`hermes` with this home, in this folder, with these variables."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    packages: list[Path] = field(default_factory=list)  # folders at the front of PATH
    cwd: Path | None = None  # the working directory, if it is not its own folder

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        found = ":".join([*map(str, self.packages), str(SRC)])
        ours = {"HOME": str(self.folder), "HERMES_HOME": str(self.home), "PYTHONPATH": found}
        ours |= {"HERMES_MODEL__SERVERS": "[]"}  # what runs on this machine is not for tests
        whole = {**kept, **ours, "TERM": "xterm", "PYTHONWARNINGS": "error", **self.environ}
        return {name: value for name, value in whole.items() if value != UNSET}

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-P", "-m", "hermes", *words]

    def run(self, *words: str, stdin: str | None = None) -> Done:
        ended = subprocess.run(
            self.command(*words),
            env=self.env(),
            cwd=self.cwd or self.folder,
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Done(ended.returncode, ended.stdout, ended.stderr)

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.command(*words),
            env=self.env(),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def on_terminal(
        self,
        *words: str,
        typed: Sequence[tuple[str, str | Callable[[], object]]] = (),
        columns: int = 80,
    ) -> Done:
        """Run it with both streams on one terminal. `typed`: wait for the first text, then type the
        second one or call it."""
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, columns))
        child = subprocess.Popen(
            self.command(*words),
            env=self.env(),
            cwd=self.folder,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        seen, waiting, interrupted = "", list(typed), False
        deadline = time.monotonic() + PATIENCE_S
        try:
            while time.monotonic() < deadline:
                if not select.select([ours], [], [], 1.0)[0]:
                    if interrupted:  # a signal just before a read does not end the read
                        child.send_signal(signal.SIGINT)
                    continue
                try:
                    piece = os.read(ours, 65536)
                except OSError:  # the child closed its end
                    break
                seen += piece.decode("utf-8", "replace")
                while waiting and waiting[0][0] in seen:
                    text = waiting.pop(0)[1]
                    if callable(text):
                        text()
                    elif text == "^C":
                        child.send_signal(signal.SIGINT)
                        interrupted = True
                    else:
                        os.write(ours, text.encode())
            else:
                pytest.fail(
                    f"it did not end; it said {seen[-2000:]!r}, and {waiting} was left to type"
                )
            return Done(child.wait(PATIENCE_S), seen.replace("\r\n", "\n"), "")
        finally:
            os.close(ours)
            child.kill()
            child.wait()


def scripted(folder: Path) -> Program:
    """Return a program whose model answers by the script above."""
    script = folder / "script.json"
    script.write_text(json.dumps(SCRIPT), encoding="utf-8")
    return Program(
        folder, {"HERMES_MODEL__PROVIDER": "scripted", "HERMES_MODEL__NAME": str(script)}
    )
