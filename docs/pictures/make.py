"""Makes the pictures that the documentation shows, from real runs.

    .venv/bin/python docs/pictures/make.py

Those of the window: a program in a pseudo-terminal with an emulator behind it, typed into and
drawn as SVG. That of the crash: what `hermes demo crash` draws itself.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
HERE = Path(__file__).parent

from doubles.shop import Shop  # noqa: E402
from terminal.emulator import Emulator  # noqa: E402

COLUMNS, ROWS = 84, 44
CELL_W, CELL_H, SIZE, PAD, TITLE_H = 8.4, 18.0, 14, 14, 30
FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
ANSI = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")


def shades(text: str) -> list[str]:
    return text.split()


DARK = {
    "back": "#16181d",
    "text": "#d6dae1",
    "title": "#22252c",
    "colours": [
        "#3b4048",
        "#ff8080",
        "#7ed491",
        "#e5c07b",
        "#7aa2f7",
        "#c49bff",
        "#6cc7d0",
        "#d6dae1",
    ],
    "bright": [
        "#6b717b",
        "#ff9e9e",
        "#9be8ab",
        "#f0d59a",
        "#9dbcff",
        "#d8bdff",
        "#93dde4",
        "#ffffff",
    ],
}
LIGHT = {
    "back": "#ffffff",
    "text": "#24292f",
    "title": "#eceef1",
    "colours": [
        "#24292f",
        "#b3261e",
        "#116329",
        "#7d4e00",
        "#0550ae",
        "#6639ba",
        "#1b6f75",
        "#6e7781",
    ],
    "bright": [
        "#57606a",
        "#cf222e",
        "#1a7f37",
        "#9a6700",
        "#0969da",
        "#8250df",
        "#2a8a91",
        "#8c959f",
    ],
}
ANSWER = """\
The test expects **three** retries, but the client gives up after two:

```python
for attempt in range(1, self.retries):   # ends one too early
    if self.send(request).ok:
        return attempt
```

- `range` leaves out its last number
- the default of `retries` is right"""
LOOKS = """\
from hermes_tools import parallel, search_files, terminal, write_file

paths = search_files("*.py", target="files").splitlines()
texts = parallel([("read_file", {"path": path}) for path in paths])
rows = [f"{path}: {text.count('class ')} classes" for path, text in zip(paths, texts)]
write_file("report.txt", "\\n".join(rows))
print(*rows, sep="\\n")
print(terminal("wc -l *.py").splitlines()[-2])
"""
SCRIPT = [
    {
        "match": "^Why does",
        "steps": [
            {
                "text": "I look at the test and at what it calls.",
                "calls": [
                    {"tool": "search_files", "arguments": {"pattern": "retries"}},
                    {"tool": "read_file", "arguments": {"path": "client.py"}},
                ],
            },
            {"text": ANSWER, "chunk_s": 0.01},
        ],
    },
    {
        "match": "^Fix it",
        "steps": [
            {
                "text": "Then I run the tests.",
                "calls": [
                    {
                        "tool": "terminal",
                        "arguments": {"command": "python3 run_tests.py", "timeout": 60},
                    }
                ],
            },
            {"text": "All 42 pass."},
        ],
    },
    {
        "match": "^Publish",
        "steps": [
            {
                "text": "The tests pass, so I push the branch.",
                "calls": [
                    {"tool": "terminal", "arguments": {"command": "git push origin retry-fix"}}
                ],
            },
            {"text": "Done."},
        ],
    },
    {
        "match": "^Check all three",
        "steps": [
            {
                "text": "I look at them side by side.",
                "calls": [
                    {
                        "tool": "delegate_task",
                        "arguments": {
                            "tasks": [
                                {"goal": "Read the retry loop"},
                                {"goal": "Look at the tests"},
                                {"goal": "Search for other loops"},
                            ]
                        },
                    }
                ],
            },
            {"text": "Two loops leave out their last number."},
        ],
    },
    {
        "match": "^Read the retry",
        "steps": [
            {"calls": [{"tool": "read_file", "arguments": {"path": "client.py"}}]},
            {"text": "The loop tries twice instead of three times."},
        ],
    },
    {
        "match": "^Look at the tests",
        "steps": [
            {"calls": [{"tool": "read_file", "arguments": {"path": "run_tests.py"}}]},
            {"text": "42 tests.", "delay_s": 60},
        ],
    },
    {
        "match": "^Search for other",
        "steps": [
            {"calls": [{"tool": "search_files", "arguments": {"pattern": "range"}}]},
            {"text": "One more.", "delay_s": 60},
        ],
    },
    {
        "match": "^Which files",
        "steps": [
            {
                "text": "One script looks at all of them.",
                "calls": [{"tool": "execute_code", "arguments": {"code": LOOKS}}],
            },
            {"text": "Both are listed in `report.txt`; `client.py` is the only one with a class."},
        ],
    },
    {"match": "", "steps": [{"text": "Noted: {last}"}]},
]
CLIENT = """\
class Client:
    retries = 3

    def ask(self, request):
        for attempt in range(1, self.retries):
            if self.send(request).ok:
                return attempt
"""
TESTS = """\
import time
for n in range(1, 43):
    print(f"test {n:2} of 42 ... ok", flush=True)
    time.sleep(0.2)
"""


def main() -> int:
    with stage() as folder:
        draw_first_question(folder)
        for name, skin, palette in (("window", "dark", DARK), ("window-light", "light", LIGHT)):
            draw(folder, name, skin, palette, tour)
        draw(folder, "approval", "dark", DARK, approval)
        draw(folder, "completion", "dark", DARK, completion)
        draw(folder, "resume", "dark", DARK, resume)
        draw(folder, "subagents", "dark", DARK, subagents)
        draw(folder, "script", "dark", DARK, script)
        draw(folder, "schedules", "dark", DARK, schedules)
    demo = [sys.executable, "-P", "-m", "hermes", "demo", "crash"]
    return subprocess.run([*demo, "--svg", str(HERE / "crash.svg")], check=False).returncode


@contextmanager
def stage() -> Iterator[Path]:
    """A small project, under a name that is the same every time."""
    folder = Path(tempfile.gettempdir()) / "retry"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "client.py").write_text(CLIENT, encoding="utf-8")
    (folder / "run_tests.py").write_text(TESTS, encoding="utf-8")
    (folder / "tour").write_text(json.dumps(SCRIPT), encoding="utf-8")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def draw(
    folder: Path,
    name: str,
    skin: str,
    palette: dict[str, Any],
    scene: Callable[[Emulator], object],
) -> None:
    home = folder / ".home"
    shutil.rmtree(home, ignore_errors=True)
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "HERMES_HOME": str(home),
        "PYTHONPATH": str(ROOT / "src"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "HERMES_MODEL__PROVIDER": "scripted",
        "HERMES_MODEL__NAME": "tour",
        "HERMES_DISPLAY__SKIN": skin,
        "TZ": "Europe/Paris",
    }
    home.mkdir(mode=0o700)
    (home / "hermes.db").touch(mode=0o600)
    command = [sys.executable, "-P", "-m", "hermes"]
    seen = Emulator(command, environ, folder, columns=COLUMNS, rows=ROWS)
    try:
        seen.until("own engine")
        scene(seen)
        (HERE / f"{name}.svg").write_text(svg(seen.cells, palette), encoding="utf-8")
    finally:
        seen.close()


def draw_first_question(folder: Path) -> None:
    """The first question on a computer with a key in the environment, and Ollama."""
    models = [{"id": "qwen3:8b"}, {"id": "llama3.2:3b"}]
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT / "src"),
        "TERM": "xterm-256color",
        "OPENROUTER_API_KEY": "not shown",
    }
    with Shop(key="", models=models).open() as ollama:
        environ["OLLAMA_HOST"] = f"127.0.0.1:{ollama.port}"
        command = [sys.executable, "-P", "-m", "hermes"]
        seen = Emulator(command, environ, folder, columns=COLUMNS, rows=ROWS)
        try:
            seen.until("Your choice [1]")
            rows = [row for row in seen.cells if any(cell.data.strip() for cell in row)]
            (HERE / "first.svg").write_text(svg(rows, DARK), encoding="utf-8")
        finally:
            seen.close()


def tour(seen: Emulator) -> None:
    seen.type("Why does test_retry fail?\r")
    seen.until("retries is right")
    seen.settle()
    seen.type("Fix it and run the tests\r")
    seen.until("Esc to write instead", on_screen=True)
    time.sleep(1.0)
    seen.type("y")
    seen.until("│ test")
    seen.type("And write a line for the changelog\r")
    seen.until("queued And write")
    seen.type("Then mention it in th")
    seen.until("mention it in th")
    time.sleep(0.7)
    seen.look()


def approval(seen: Emulator) -> None:
    seen.type("Publish the branch\r")
    seen.until("Esc to write instead", on_screen=True)
    seen.settle(0.8)


def completion(seen: Emulator) -> None:
    seen.type("Why does test_retry fail?\r")
    seen.until("retries is right")
    seen.settle()
    seen.type("/re")
    seen.until("/resume")
    seen.settle()


def subagents(seen: Emulator) -> None:
    seen.type("Check all three places where we retry\r")
    seen.until("Read the retry loop: done")
    seen.until("Search for other loops: thinking")
    seen.type("/agents\r")
    seen.until("2 subagents running")
    time.sleep(1.0)
    seen.look()


def resume(seen: Emulator) -> None:
    for text in (
        "Plan the garden for May",
        "Compare the three offers",
        "Why does test_retry fail?",
    ):
        seen.type(f"{text}\r")
        seen.until("Noted" if "retry" not in text else "retries is right")
        seen.settle()
        if "retry" not in text:
            seen.type("/new\r")
            seen.until("A new conversation.")
            seen.settle()
    seen.type("/resume\r")
    seen.until("Go back to a conversation", on_screen=True)
    seen.type("\x1b[B")
    seen.settle()


def script(seen: Emulator) -> None:
    seen.type("Which files have classes? Write a report\r")
    seen.until("Esc to write instead", on_screen=True)
    time.sleep(1.0)
    seen.type("y")
    seen.until("the only one with a class")
    seen.settle()
    seen.type("\x0f")
    seen.settle()


def schedules(seen: Emulator) -> None:
    seen.type("/cron create every weekday at seven, look at my inbox --name inbox\r")
    seen.until("Task: look at my inbox")
    seen.settle()
    seen.type("/cron create in 30m, remind me to call Ann\r")
    seen.until("Task: remind me to call Ann")
    seen.settle()
    seen.type("/cron create monday at 9, plan the week\r")
    seen.until("Once or every week?")
    seen.settle()
    seen.type("/cron\r")
    seen.until("By itself")
    seen.settle()


def svg(cells: Sequence[Sequence[Any]], palette: dict[str, Any]) -> str:
    last = max(n for n, row in enumerate(cells) if any(cell.data.strip() for cell in row))
    rows = cells[: last + 1]
    width = COLUMNS * CELL_W + 2 * PAD
    height = len(rows) * CELL_H + 2 * PAD + TITLE_H
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="{FONT}" font-size="{SIZE}">',
        f'<rect width="100%" height="100%" rx="9" fill="{palette["back"]}"/>',
        f'<path d="M0 {TITLE_H}V9a9 9 0 0 1 9-9H{width - 9:.0f}a9 9 0 0 1 9 9V{TITLE_H}z" '
        f'fill="{palette["title"]}"/>',
        *(
            f'<circle cx="{18 + 18 * n}" cy="15" r="5.5" fill="{colour}"/>'
            for n, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
        ),
    ]
    for n, row in enumerate(rows):
        parts += _row(row, TITLE_H + PAD + n * CELL_H, palette)
    return "\n".join([*parts, "</svg>", ""])


def _row(row: Sequence[Any], y: float, palette: dict[str, Any]) -> Iterator[str]:
    for look, run in groupby(enumerate(row), lambda each: _look(each[1], palette)):
        front, back, bold, underline = look
        places = list(run)
        x, text = PAD + places[0][0] * CELL_W, "".join(cell.data for _, cell in places)
        if back != palette["back"]:
            wide = len(places) * CELL_W
            place = f'x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{CELL_H}"'
            yield f'<rect {place} fill="{back}"/>'
        shown = text.rstrip()
        if not shown.strip():
            continue
        lead = len(shown) - len(shown.lstrip())
        x, shown = x + lead * CELL_W, shown.strip()
        more = ' font-weight="bold"' if bold else ""
        more += ' text-decoration="underline"' if underline else ""
        yield (
            f'<text x="{x:.1f}" y="{y + 13.5:.1f}" fill="{front}"{more} xml:space="preserve" '
            f'textLength="{len(shown) * CELL_W:.1f}" lengthAdjust="spacing">{escape(shown)}</text>'
        )


def _look(cell: Any, palette: dict[str, Any]) -> tuple[str, str, bool, bool]:
    front = _colour(cell.fg, palette, palette["text"])
    back = _colour(cell.bg, palette, palette["back"])
    if cell.reverse:
        front, back = back, front
    return front, back, cell.bold, cell.underscore


def _colour(name: str, palette: dict[str, Any], default: str) -> str:
    if name == "default":
        return default
    plain = name.removeprefix("bright")
    if plain in ANSI:
        shades = palette["bright" if name.startswith("bright") else "colours"]
        return str(shades[ANSI.index(plain)])
    return f"#{name}"


if __name__ == "__main__":
    sys.exit(main())
