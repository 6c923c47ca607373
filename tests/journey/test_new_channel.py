"""A channel that no command knows is set up and checked by its own `plugin.py` alone."""

import sys
from pathlib import Path

import pytest

from journey.cli_program import Program

PROGRAM = Path(__file__).parents[1] / "doubles" / "pigeon_program.py"
SILENT = ("gateway", "setup", "--yes", "--api", "off", "--service", "none")


class PigeonProgram(Program):
    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-P", str(PROGRAM), *words]

    def doctor(self) -> tuple[bool, str, str]:
        checks = self.run("doctor", "--json").document["checks"]
        found = next(check for check in checks if check["check"] == "pigeon")
        return found["ok"], found["detail"], found.get("fix", "")


@pytest.fixture
def hermes(tmp_path: Path) -> PigeonProgram:
    return PigeonProgram(tmp_path, {"PATH": "/nowhere"})


def test_the_wizard_asks_what_the_channel_declares_and_the_doctor_asks_the_channel(
    hermes: PigeonProgram,
) -> None:
    done = hermes.on_terminal(
        "gateway",
        "setup",
        typed=[
            ("OpenAI-compatible HTTP API?", "n\n"),
            ("on Telegram?", "n\n"),
            ("Send pigeons? [y/N]", "y\n"),
            ("Which loft", "n0rth!\n"),
            ("it has odd letters", "north\n"),
            ("The number on its ring: ", "ring-north\n"),
            ("Send a test message to pigeon:north now? [Y/n]", "n\n"),
        ],
    )
    assert done.status == 0, done.out
    assert "This is Martha" in done.out
    config = (hermes.home / "config.yaml").read_text(encoding="utf-8")
    assert "loft: north" in config
    assert "enabled: true" in config
    assert (hermes.home / ".env").read_text(encoding="utf-8") == "PIGEON_RING=ring-north\n"
    assert "ring-north" not in config + done.out
    assert hermes.doctor() == (True, "it lives in the north loft", "")
    hermes.environ["PIGEON_RING"] = "ring-south"
    said = "the north loft has no such ring"
    assert hermes.doctor() == (False, said, "hermes config set PIGEON_RING -")


def test_every_answer_can_be_given_as_an_option(hermes: PigeonProgram) -> None:
    silent = hermes.run(*SILENT, "--pigeon", "on", "--pigeon-loft", "north")
    assert silent.status == 1
    assert "A pigeon needs a ring. Give it with: --pigeon-ring-stdin" in silent.err
    words = ("--pigeon-loft", "closed", "--pigeon-ring-stdin")
    done = hermes.run(*SILENT, *words, stdin="ring-1\n")
    assert done.status == 0, done.err
    assert "The pigeon post cannot be reached now, so the ring was not checked." in done.err
    assert hermes.doctor() == (False, "the loft is closed", "knock")
    wrong = hermes.run("config", "set", "PIGEON_RING", "-", stdin="7\n")
    assert wrong.status == 78
    assert "it does not look like a ring" in wrong.err
    help_text = hermes.run("gateway", "setup").err
    assert "hermes config set platforms.pigeon.loft north" in help_text
    assert "hermes config set PIGEON_RING -" in help_text
