"""What a process with secrets leaves behind when it dies: nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[3] / "src"
PROGRAM = """
from hermes.secrets.process import no_dumps
no_dumps()
import ctypes, resource, subprocess, sys
print(resource.getrlimit(resource.RLIMIT_CORE))
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
print(subprocess.run(["sh", "-c", "ulimit -c; ulimit -Hc"], capture_output=True, text=True).stdout)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the second half is Linux's")
def test_sec_06_no_core_dump_and_no_look_into_our_memory(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": str(SRC)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split("\n")[:4] == ["(0, 1)", "0", "0", "0"]
