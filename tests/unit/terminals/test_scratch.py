"""Scratch places are made at the first use, and removed when they are not used any more."""

import os
import time
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.terminals.scratch import FRESH_S, KEEP_S, make_scratch, sweep_scratch


def used(base: Path, name: str, ago_s: float) -> Path:
    place = base / name / "tmp"
    make_scratch(str(place))
    (place / "file").write_bytes(b"x" * 100_000)
    then = time.time() - ago_s
    os.utime(base / name, (then, then))
    return place


def test_it_is_closed_to_others_and_has_a_home(tmp_path: Path) -> None:
    place = tmp_path / "scratch" / "one" / "tmp"
    make_scratch(str(place))
    make_scratch(str(place))
    folders = (tmp_path / "scratch", place.parent, place, place / "home")
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}


def test_what_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "scratch").write_text("a file")
    with pytest.raises(ToolFailed, match="cannot be made"):
        make_scratch(str(tmp_path / "scratch" / "one" / "tmp"))


def test_a_sweep_removes_what_was_long_unused_and_nothing_that_runs(tmp_path: Path) -> None:
    old, busy = used(tmp_path, "old", KEEP_S + 60), used(tmp_path, "busy", KEEP_S + 60)
    young = used(tmp_path, "young", KEEP_S - 60)
    assert sweep_scratch(tmp_path, {str(busy), ""}) == 1
    assert not old.parent.exists()
    assert busy.exists()
    assert young.exists()


def test_too_much_goes_by_age_and_what_is_fresh_stays(tmp_path: Path) -> None:
    older, newer = used(tmp_path, "a", FRESH_S * 3), used(tmp_path, "b", FRESH_S * 2)
    fresh = used(tmp_path, "c", 0)
    assert sweep_scratch(tmp_path, (), 250_000) == 1
    assert [place.exists() for place in (older, newer, fresh)] == [False, True, True]
    assert sweep_scratch(tmp_path / "nowhere", ()) == 0
