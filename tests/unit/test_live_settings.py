"""Settings that follow their files."""

import logging
from pathlib import Path

import pytest

from hermes.settings import load
from hermes.settings.live import LiveSettings


def put(path: Path, text: str) -> None:
    half = path.with_name("half")
    half.write_text(text, encoding="utf-8")
    half.replace(path)


def test_sec_07_a_change_is_seen_by_the_next_call(tmp_path: Path) -> None:
    put(tmp_path / "config.yaml", "gateway: {busy: steer}\n")
    live = LiveSettings(tmp_path, load(tmp_path, {}), environ={})
    assert live().gateway.busy == "steer"
    put(tmp_path / "config.yaml", "gateway: {busy: interrupt}\n")
    assert live().gateway.busy == "interrupt"
    put(tmp_path / ".env", "SOME_TOKEN=new\n")
    assert live().secrets["SOME_TOKEN"] == "new"
    (tmp_path / ".env").unlink()
    assert "SOME_TOKEN" not in live().secrets


def test_a_file_that_cannot_be_read_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path / "config.yaml", "gateway: {busy: steer}\n")
    live = LiveSettings(tmp_path, load(tmp_path, {}), environ={})
    for text in ("gateway: {busy:", "[]", "gateway: {}\ngateway: {}\n"):
        put(tmp_path / "config.yaml", text)
        with caplog.at_level(logging.WARNING):
            assert live().gateway.busy == "steer"
    assert caplog.text.count("cannot be read") == 3


def test_what_is_wrong_in_one_place_costs_only_that_place(tmp_path: Path) -> None:
    put(tmp_path / "config.yaml", "platforms: {api: {key: '${THE_KEY}'}}\n")
    put(tmp_path / ".env", "THE_KEY=a-key-for-tests\n")
    live = LiveSettings(tmp_path, load(tmp_path, {}), environ={})
    assert live().platforms["api"]["key"] == "a-key-for-tests"
    put(tmp_path / ".env", "\n")
    assert live().platforms["api"]["key"] == ""


def test_settings_that_came_from_elsewhere_stay_until_a_file_changes(tmp_path: Path) -> None:
    made = load(tmp_path, {"HERMES_GATEWAY__BUSY": "steer"})
    live = LiveSettings(tmp_path, made, environ={})
    assert live() is made


def test_a_file_that_is_deleted_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path / "config.yaml", "gateway: {busy: steer}\n")
    live = LiveSettings(tmp_path, load(tmp_path, {}), environ={})
    (tmp_path / "config.yaml").unlink()
    for _ in range(3):
        assert live().gateway.busy == "queue"
    told = [each.message for each in caplog.records if "config.yaml is missing" in each.message]
    assert len(told) == 1
