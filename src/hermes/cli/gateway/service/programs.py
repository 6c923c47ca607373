"""Run other programs and return their output, within a time limit."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

TICK_S = 0.1
ANSWER_S = 5.0
NOT_FOUND, TIMED_OUT = 127, 124


@dataclass(frozen=True, kw_only=True)
class ProgramOutput:
    status: int
    out: str = ""
    err: str = ""


Tick = Callable[[float], None]


def ask(
    words: Sequence[str],
    environ: Mapping[str, str],
    *,
    limit_s: float = ANSWER_S,
    tick: Tick = lambda _waited: None,
) -> ProgramOutput:
    """Run a program to its end. A missing or slow one is reported in `err`."""
    program = shutil.which(words[0], path=environ.get("PATH", os.defpath))
    if program is None:
        return ProgramOutput(status=NOT_FOUND, err=f"there is no program {words[0]}")
    began = time.monotonic()
    with subprocess.Popen(
        [program, *words[1:]],
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as child:
        while True:
            try:
                out, err = child.communicate(timeout=TICK_S)
                return ProgramOutput(status=child.returncode, out=out, err=err.strip())
            except subprocess.TimeoutExpired:
                waited = time.monotonic() - began
                tick(waited)
            if waited > limit_s:
                child.kill()
                return ProgramOutput(
                    status=TIMED_OUT, err=f"{words[0]} took more than {limit_s:.0f} s"
                )
