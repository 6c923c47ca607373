"""A schema grows by numbered steps; the file as it was before them is kept."""

from pathlib import Path

import apsw
import pytest

from hermes.core.errors import StoreTooNew
from hermes.stores.sqlite.open import migrate

ONE = "CREATE TABLE a (x); INSERT INTO a VALUES (1);"
TWO = "ALTER TABLE a ADD COLUMN y DEFAULT 2;"
THREE = "UPDATE a SET y = 3;"


def test_each_step_is_taken_once_and_the_file_before_it_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "hermes.db"
    db = apsw.Connection(str(path))
    migrate(db, path, [ONE])
    assert list(tmp_path.glob("*.bak")) == [], "there was nothing to keep"
    migrate(db, path, [ONE, TWO, THREE])
    migrate(db, path, [ONE, TWO, THREE])
    assert db.execute("SELECT * FROM a").fetchall() == [(1, 3)]
    old = apsw.Connection(str(tmp_path / "hermes.db.schema1.bak"))
    assert old.execute("SELECT * FROM a").fetchall() == [(1,)]
    assert [file.name for file in tmp_path.glob("*.bak")] == ["hermes.db.schema1.bak"]


def test_a_file_that_is_just_being_made_has_nothing_to_keep(tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / "hermes.db"))
    migrate(db, tmp_path / "hermes.db", [ONE, TWO, THREE])
    assert db.execute("SELECT * FROM a").fetchall() == [(1, 3)]
    assert list(tmp_path.glob("*.bak")) == []


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "hermes.db"
    db = apsw.Connection(str(path))
    migrate(db, path, [ONE])
    with pytest.raises(apsw.SQLError):
        migrate(db, path, [ONE, "DELETE FROM a; SELECT nonsense FROM nowhere;"])
    assert db.execute("SELECT * FROM a").fetchall() == [(1,)]
    assert db.execute("PRAGMA user_version").get == 1


def test_a_file_of_a_newer_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "hermes.db"
    db = apsw.Connection(str(path))
    migrate(db, path, [ONE, TWO])
    with pytest.raises(StoreTooNew, match="Update Hermes"):
        migrate(db, path, [ONE])
