"""The log: JSON lines for the owner alone, and no secret in it."""

import json
import logging
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.cli.log_file import FILES, PrivateFile, begin
from hermes.core.errors import Misconfigured
from hermes.secrets.live import LOOK_S
from hermes.settings import ModelSettings, Settings


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
        model=ModelSettings(api_key="sk-model", headers={"X": "header-secret"}),
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


class Client:
    """As those that print their key when they are printed."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __repr__(self) -> str:
        return f"Client(headers={{'Authorization': 'Bearer {self.key}'}})"


def test_sec_02_no_record_of_anybody_carries_a_secret(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / ".env").write_text("MY_TOKEN=tok-4711-secret\n", encoding="utf-8")
    begin(tmp_path, Settings(), {"HERMES_LOG": "debug"})
    secret = "tok-4711-secret"
    logging.getLogger("a.server").info('"GET /x?token=%s" %d', secret, 200)
    logging.getLogger("httpcore.http11").warning("headers=%r", [(b"X-Key", secret.encode())])
    logging.getLogger("httpx").warning("request to https://me:%s@a.test/", secret)
    logging.getLogger("hermes").error("client %r", Client(secret), stack_info=True)
    try:
        int(f"{Client(secret)}")
    except ValueError:
        logging.getLogger("hermes").exception("with a trace")
    logging.getLogger("x").warning("in base64: %s", b64encode(f"me:{secret}".encode()).decode())
    text = (tmp_path / "logs" / "hermes.log").read_text("utf-8")
    assert len(rows(tmp_path)) == 6
    assert secret not in text
    assert b64encode(f"me:{secret}".encode()).decode()[6:-4] not in text


def test_sec_07_a_rotated_secret_is_not_written_either(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / ".env").write_text("MY_TOKEN=tok-old-1\n", encoding="utf-8")
    begin(tmp_path, Settings(), {})
    logging.getLogger("hermes").warning("tok-old-1")
    (tmp_path / ".env").write_text("MY_TOKEN=tok-new-22\n", encoding="utf-8")
    time.sleep(LOOK_S)
    logging.getLogger("hermes").warning("tok-old-1 tok-new-22")
    assert [row["text"] for row in rows(tmp_path)] == ["•••", "••• •••"]


def test_a_full_log_is_turned_over_and_the_oldest_is_dropped(tmp_path: Path) -> None:
    file = tmp_path / "hermes.log"
    log = PrivateFile(file, bytes_max=20)
    for number in range(6):
        log.emit(logging.makeLogRecord({"msg": f"the line with number {number}"}))
    log.close()
    kept = {each.name: each.read_text(encoding="utf-8") for each in tmp_path.iterdir()}
    line = "the line with number {}\n".format
    older = {f"hermes.log.{n}": line(6 - n) for n in range(1, FILES + 1)}
    assert kept == {"hermes.log": "", **older}
    assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o600}
