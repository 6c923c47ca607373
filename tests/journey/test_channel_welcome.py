"""P10: the set-up shows where people find the agent and sends a test message; doctor says it, too.

Links and messages are data of the platform's plugin. The Bot API is a process of its own.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from tests.doubles.shop import TOKEN

from journey.cli_program import Program

ROOT = Path(__file__).parents[2]
OWNER = 12345678
QUIET = ("gateway", "setup", "--api", "off", "--service", "none")


@dataclass
class Bots:
    """A Bot API double in a process of its own."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def control(self, name: str, **given: Any) -> Any:
        line = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            line.request("POST", f"/control/{name}", json.dumps(given) if given else None)
            return json.load(line.getresponse())
        finally:
            line.close()

    def texts(self, chat: int) -> list[str]:
        return [shown["text"] for shown in self.control(f"chat?id={chat}")]


@pytest.fixture
def bots() -> Iterator[Bots]:
    words = [sys.executable, "-m", "tests.doubles.telegram", "--token", TOKEN]
    child = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        yield Bots(int(child.stdout.readline()))
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


@pytest.fixture
def hermes(tmp_path: Path, bots: Bots) -> Program:
    return Program(tmp_path, {"HERMES_PLATFORMS__TELEGRAM__API_BASE": bots.url})


def test_the_wizard_shows_link_and_qr_code_and_sends_the_test_message(
    hermes: Program, bots: Bots
) -> None:
    done = hermes.on_terminal(
        *QUIET,
        typed=[
            ("on Telegram?", "y\n"),
            ("token", f"{TOKEN}\n"),
            ("ids", f"{OWNER}\n"),
            ("Send a test message", "\n"),
        ],
    )
    assert done.status == 0, done.out
    assert "https://t.me/hermes_bot" in done.out
    assert "█▀▀▀▀▀█" in done.out, "the corner of a QR code"
    assert f"The test message is in telegram:{OWNER}." in done.out
    assert bots.texts(OWNER) == ["Hermes is here. Write to me whenever you like."]
    checks = hermes.run("doctor", "--json").document["checks"]
    found = next(check for check in checks if check["check"] == "telegram")
    assert found["ok"]
    assert "https://t.me/hermes_bot" in found["detail"]


def test_a_chat_that_was_not_started_is_no_failed_set_up(hermes: Program, bots: Bots) -> None:
    bots.control("fault", method="sendMessage", kind="refuse")
    done = hermes.on_terminal(
        *QUIET,
        typed=[
            ("on Telegram?", "y\n"),
            ("token", f"{TOKEN}\n"),
            ("ids", f"{OWNER}\n"),
            ("Send a test message", "\n"),
        ],
    )
    assert done.status == 0, done.out
    assert "The test message did not arrive (" in done.out
    assert f'hermes send telegram:{OWNER} "hello"' in done.out.replace("\r\n", " ")
    assert "enabled: true" in (hermes.home / "config.yaml").read_text(encoding="utf-8")


def test_a_script_gets_the_link_and_no_message(hermes: Program, bots: Bots) -> None:
    words = (*QUIET, "--yes", "--telegram", "on", "--telegram-token-stdin")
    done = hermes.run(*words, "--telegram-allow", str(OWNER), stdin=f"{TOKEN}\n")
    assert done.status == 0, done.err
    assert "@hermes_bot is at https://t.me/hermes_bot" in done.err
    assert "█" not in done.err
    assert bots.texts(OWNER) == []
