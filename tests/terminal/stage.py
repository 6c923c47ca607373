"""A home with a scripted model, and windows on it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from journey.cli_program import Program
from terminal.emulator import Emulator

MARK = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
WORDS = " ".join(f"word{n}" for n in range(1, 31))
MARKDOWN = """\
# Title

Some **bold** text and `code`.

```python
def twice(x):
    return 2 * x  # said again
```

- one
- two

The end."""
TAGS = """\
Use the <title> tag inside <head>, or Vec<String> &amp; more.

Roses are red,
  violets are blue.

7. seven
8. eight

| a | b |
|---|---|
| <i> | 2*3*4 |

That is <all>."""
SCRIPT = [
    {
        "match": "^paint",
        "steps": [
            {
                "calls": [
                    {
                        "tool": "clarify",
                        "arguments": {"question": "Which colour?", "choices": ["Red", "Blue"]},
                    }
                ],
            },
            {"text": "It is painted."},
        ],
    },
    {
        "match": "^once",
        "steps": [
            {
                "text": "I note it.",
                "calls": [
                    {
                        "tool": "terminal",
                        "arguments": {"command": "echo noted >> notes; echo is noted; sleep 6"},
                    }
                ],
            },
            {"text": "It is over."},
        ],
    },
    {
        "match": "^held",
        "steps": [
            {
                "text": "I note it.",
                "calls": [
                    {
                        "tool": "terminal",
                        "arguments": {
                            "command": "echo noted >> notes; echo is noted; "
                            "until [ -e go ]; do sleep 0.1; done"
                        },
                    }
                ],
            },
            {"text": "It is over."},
        ],
    },
    {
        "match": "^slow",
        "steps": [
            {
                "text": "I look.",
                "calls": [
                    {
                        "tool": "terminal",
                        "arguments": {"command": "for i in 1 2 3; do echo row $i; done; sleep 60"},
                    }
                ],
            },
            {"text": "It is over."},
        ],
    },
    {
        "match": "^steps",
        "steps": [
            {
                "text": "I begin.",
                "calls": [{"tool": "terminal", "arguments": {"command": "echo one; sleep 4"}}],
            },
            {"text": "All done."},
        ],
    },
    {
        "match": "^ask",
        "steps": [
            {
                "text": "I try.",
                "calls": [{"tool": "terminal", "arguments": {"command": "rm -rf gone"}}],
            },
            {"text": "It said: {result}"},
        ],
    },
    {
        "match": "^write (.*)",
        "steps": [
            {
                "calls": [
                    {
                        "tool": "write_file",
                        "arguments": {"path": "{1}", "content": "one\nTWO\nthree\n<b>four</b>\n"},
                    }
                ]
            },
            {"text": "It is written."},
        ],
    },
    {
        "match": "^patch (.*)",
        "steps": [
            {
                "calls": [
                    {
                        "tool": "patch",
                        "arguments": {"path": "{1}", "old_string": "two", "new_string": "2"},
                    }
                ]
            },
            {"text": "It is patched."},
        ],
    },
    {"match": "^stream", "steps": [{"text": f"{WORDS}\n\nThat is all.", "chunk_s": 0.15}]},
    {"match": "^markdown", "steps": [{"text": MARKDOWN, "chunk_s": 0.02}]},
    {"match": "^tags", "steps": [{"text": TAGS, "chunk_s": 0.01}]},
    {"match": "^evil", "steps": [{"text": "be\x1b[2Jfore \x1b]0;title\x07after\x9b31m"}]},
    {"match": "^fail", "steps": [{"error": "denied", "text": "The key was refused."}]},
    {"match": "", "steps": [{"text": "You said: {last}"}]},
]


def stage(folder: Path, **environ: str) -> Program:
    script = folder / "script.json"
    script.write_text(json.dumps(SCRIPT), encoding="utf-8")
    return Program(
        folder,
        {
            "HERMES_MODEL__PROVIDER": "scripted",
            "HERMES_MODEL__NAME": script.name,
            "TERM": "xterm-256color",
            **environ,
        },
    )


@contextmanager
def window(
    program: Program, *words: str, columns: int = 80, rows: int = 24, lag_s: float = 0.0
) -> Iterator[Emulator]:
    """Opened, and connected to an engine."""
    emulator = Emulator(
        program.command(*words),
        program.env(),
        program.folder,
        columns=columns,
        rows=rows,
        lag_s=lag_s,
    )
    try:
        emulator.until(MARK)
        emulator.until("engine" if columns >= 80 else MARK)
        yield emulator
    finally:
        emulator.close()


def let_go(folder: Path) -> None:
    """What `held` began may end."""
    (folder / "go").touch()


def said(emulator: Emulator, text: str) -> None:
    emulator.type(f"{text}\r")
