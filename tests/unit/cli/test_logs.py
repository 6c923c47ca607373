"""The log: JSON lines for the owner alone, and no secret in it."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.cli.logs import begin
from hermes.core.errors import Misconfigured
from hermes.settings import Model, Settings


@pytest.fixture(autouse=True)
def _root_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    before, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    yield
    for handler in set(root.handlers) - set(before):
        handler.close()
    root.handlers[:] = before
    root.setLevel(level)
    logging.raiseExceptions = raising


def rows(home: Path) -> list[dict[str, object]]:
    text = (home / "logs" / "hermes.log").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_each_record_is_one_object_and_the_file_is_private(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    begin(tmp_path, Settings(), {})
    logging.getLogger("hermes.x").warning("two\nlines %s", "ü")
    logging.getLogger("hermes.x").debug("not this")
    try:
        int("inside")
    except ValueError:
        logging.getLogger("hermes.x").exception("broke")
    first, second = rows(tmp_path)
    assert (first["level"], first["from"], first["text"]) == ("warning", "hermes.x", "two\nlines ü")
    assert "ValueError: invalid literal" in str(second["trace"])
    assert (tmp_path / "logs" / "hermes.log").stat().st_mode & 0o777 == 0o600


def test_no_secret_is_written(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    settings = Settings(
        model=Model(api_key="sk-model", headers={"X": "header-secret"}),
        platforms={"telegram": {"token": "tg-token", "name": "visible"}},
        secrets={"OPENAI_API_KEY": "sk-openai", "PATH": "/usr/bin"},
    )
    begin(tmp_path, settings, {"HERMES_LOG": "debug"})
    said = "sk-model header-secret tg-token sk-openai visible /usr/bin"
    logging.getLogger("hermes").debug(said)
    assert rows(tmp_path)[0]["text"] == "••• ••• ••• ••• visible /usr/bin"


def test_a_level_that_is_none_is_a_mistake_of_configuration(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="HERMES_LOG: “loud” is not one of debug, info"):
        begin(tmp_path, Settings(), {"HERMES_LOG": "loud"})


def test_a_home_without_room_for_a_log_is_no_reason_to_fail(tmp_path: Path) -> None:
    begin(tmp_path / "nowhere", Settings(), {})


def test_the_log_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    begin(tmp_path, Settings(), {})
    for _ in range(120):
        logging.getLogger("hermes").info("x" * 100_000)
    files = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert files == ["hermes.log", "hermes.log.1", "hermes.log.2"]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (tmp_path / "logs").iterdir())
