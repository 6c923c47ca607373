"""What serving HTTP must not load: the gateway idles, and pays for all of it."""

import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[4] / "src"
HEAVY = {"anyio", "click", "configparser", "email", "h11", "html", "http", "httpx", "httpx2"}
HEAVY |= {"logging.config", "multiprocessing", "starlette", "urllib.request", "uvicorn"}


@pytest.mark.parametrize("channel", ["api", "webhook"])
def test_a_channel_that_serves_loads_no_framework(channel: str) -> None:
    code = f"import sys; sys.path.insert(0, {str(SRC)!r})\n"
    code += f"import hermes.channels.{channel}.server\nprint(*sys.modules)"
    command = [sys.executable, "-I", "-c", code]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert HEAVY & set(told.stdout.split()) == set()
