"""What the first paint of the window costs: processor time until the prompt stands there.

    .venv/bin/python -m bench.paint

The window is opened in a pseudo-terminal with the scripted model and killed at once when the prompt
is seen. Told as time and as a ratio to what importing the two libraries that it draws with costs
here and now; so a slow machine does not look like a slow program.
"""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5
PATIENCE_S = 60.0
LIMIT_S, LIMIT_RATIO = 0.4, 2.0
SRC = Path(__file__).parents[1] / "src"
PROMPT = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}".encode()
YARDSTICK = "import prompt_toolkit, rich"
CURSOR_ASKED, CURSOR_AT = b"\x1b[6n", b"\x1b[1;1R"


def painted(home: Path) -> float:
    """Processor seconds of one window, from its start to its prompt."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "HERMES_HOME": str(home / "home"),
        "PYTHONPATH": str(SRC),
        "TERM": "xterm-256color",
        "HERMES_MODEL__PROVIDER": "scripted",
    }
    ours, theirs = pty.openpty()
    command = [sys.executable, "-P", "-m", "hermes"]
    child = subprocess.Popen(command, env=env, cwd=home, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen, deadline = b"", time.monotonic() + PATIENCE_S
    while PROMPT not in seen and time.monotonic() < deadline:
        if select.select([ours], [], [], 1.0)[0]:
            piece = os.read(ours, 65_536)
            seen += piece
            if CURSOR_ASKED in piece:
                os.write(ours, CURSOR_AT)
    child.send_signal(signal.SIGKILL)
    _, _, used = os.wait4(child.pid, 0)
    child.returncode = -signal.SIGKILL
    os.close(ours)
    assert PROMPT in seen, seen.decode("utf-8", "replace")
    return used.ru_utime + used.ru_stime


def imported() -> float:
    child = subprocess.Popen([sys.executable, "-c", YARDSTICK])
    _, _, used = os.wait4(child.pid, 0)
    child.returncode = 0
    return used.ru_utime + used.ru_stime


def measured(rounds: int = ROUNDS) -> dict[str, float]:
    """The best of some rounds: others may be at work on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        painted(Path(folder))  # compiles what was never run
        paint = min(painted(Path(folder)) for _ in range(rounds))
    yardstick = min(imported() for _ in range(rounds))
    return {"paint_s": paint, "yardstick_s": yardstick, "ratio": paint / yardstick}


if __name__ == "__main__":
    found = measured()
    print(json.dumps({name: round(value, 3) for name, value in found.items()}))
    holds = found["paint_s"] <= LIMIT_S or found["ratio"] <= LIMIT_RATIO
    sys.exit(0 if holds else 1)
