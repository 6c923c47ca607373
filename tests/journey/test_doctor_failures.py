"""The doctor names the right fix: never a restore for something that is only unreachable."""

import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from journey.cli_program import Program, scripted


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    return scripted(tmp_path)


def rows(hermes: Program, *words: str) -> list[dict[str, Any]]:
    done = hermes.run("doctor", "--no-calls", "--json", *words)
    return list(done.document["checks"])


def wrong(hermes: Program, *words: str) -> dict[str, dict[str, Any]]:
    return {row["check"]: row for row in rows(hermes, *words) if not row["ok"]}


def test_a_database_server_that_is_away_is_no_reason_to_restore(hermes: Program) -> None:
    hermes.environ["HERMES_STORE__URL"] = "postgresql://ada@127.0.0.1:1/hermes"
    found = wrong(hermes)
    assert found.keys() == {"database"}
    assert "restore" not in str(found)
    assert found["database"]["fix"].startswith("hermes config set store.url ")


def test_a_database_that_cannot_be_opened_is_no_reason_to_restore(hermes: Program) -> None:
    assert hermes.run("chat", "-q", "hello").status == 0
    (hermes.home / "hermes.db").unlink()
    (hermes.home / "hermes.db").mkdir()
    found = wrong(hermes)
    assert "restore" not in str(found)
    assert found["database"]["fix"].startswith("ls -ld ")


def test_a_damaged_database_is_one(hermes: Program) -> None:
    assert hermes.run("chat", "-q", "hello").status == 0
    (hermes.home / "hermes.db").write_bytes(b"this is not a database" * 1000)
    for beside in hermes.home.glob("hermes.db-*"):
        beside.unlink()
    assert wrong(hermes)["database"]["fix"].startswith("hermes restore --force FILE")


@pytest.mark.parametrize("where", ["file/home", "/proc/hermes/home"])
def test_a_home_that_cannot_be_made_is_a_failure(hermes: Program, where: str) -> None:
    (hermes.folder / "file").touch()
    hermes.environ["HERMES_HOME"] = str(hermes.folder / where)
    found = wrong(hermes)
    assert "cannot be made" in found["home"]["detail"]
    assert found["home"]["fix"].startswith("export HERMES_HOME=")


def test_a_look_at_the_home_leaves_nothing_behind(hermes: Program) -> None:
    assert "home" not in wrong(hermes)
    assert not hermes.home.exists()
    hermes.home.mkdir(mode=0o700)
    wrong(hermes)
    assert [p.name for p in hermes.home.iterdir() if p.name.startswith(".hermes-doctor")] == []
    assert stat.S_IMODE(hermes.home.stat().st_mode) == 0o700


def test_a_port_that_is_taken_is_a_failure_with_a_free_one_as_its_fix(hermes: Program) -> None:
    hermes.environ["HERMES_API_KEY"] = "k7-Qm4x-Zr9w-tB2c"
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        hermes.environ["HERMES_PLATFORMS__API__PORT"] = str(port)
        found = wrong(hermes)
        assert "is taken by another program" in found["api"]["detail"]
        words = found["api"]["fix"].removeprefix("hermes ").split()
        assert words[:3] == ["config", "set", "platforms.api.port"]
    del hermes.environ["HERMES_PLATFORMS__API__PORT"]
    assert hermes.run(*words).status == 0
    assert "api" not in wrong(hermes)


def test_a_file_that_is_no_yaml_is_the_one_failure_and_the_rest_is_not_guessed(
    tmp_path: Path,
) -> None:
    hermes = Program(tmp_path)
    hermes.home.mkdir(mode=0o700)
    (hermes.home / "config.yaml").write_text("model:\n  provider: openai\n bad: [\n")
    found = wrong(hermes)
    assert found.keys() == {"settings"}, found
    assert "is not valid YAML at line" in found["settings"]["detail"]
    assert found["settings"]["fix"] == "hermes config edit"
    unchecked = [row["check"] for row in rows(hermes) if row["detail"].startswith("not checked")]
    assert unchecked == ["database", "sandbox", "model", "channels"]


def test_the_sandbox_is_one_row_and_verbose_tells_all_of_it(hermes: Program) -> None:
    short = [row for row in rows(hermes) if row["check"] == "sandbox"]
    assert len(short) == 1
    if short[0]["ok"]:
        assert "hermes doctor --verbose" in short[0]["detail"]
        whole = [row for row in rows(hermes, "--verbose") if row["check"] == "sandbox"]
        assert len(whole) > 5
