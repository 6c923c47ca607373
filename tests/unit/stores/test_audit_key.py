"""The key of the audit log: made once, by one of many, and closed to others."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes.core.errors import StoreFailed
from hermes.stores.audit_key import FILE, OPEN_KEY, audit_key


def test_it_is_made_once_and_closed_to_others(tmp_path: Path) -> None:
    key = audit_key(tmp_path)
    assert len(key) == 32
    assert key != OPEN_KEY
    assert audit_key(tmp_path) == key
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == [FILE]


def test_of_many_that_start_together_all_have_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(lambda _: audit_key(tmp_path), range(64)))
    assert len(keys) == 1
    assert [file.name for file in tmp_path.iterdir()] == [FILE]


def test_one_that_is_given_comes_first_and_makes_no_file(tmp_path: Path) -> None:
    assert audit_key(tmp_path, " " + "ab" * 32 + "\n") == b"\xab" * 32
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", ["ab", "no hex", "zz" * 32])
def test_one_that_is_too_short_or_no_key_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(StoreFailed, match="openssl rand"):
        audit_key(tmp_path, given)


@pytest.mark.parametrize("content", [b"", b"short", bytes(33)])
def test_a_damaged_one_is_not_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(StoreFailed, match="Restore it"):
        audit_key(tmp_path)
    assert (tmp_path / FILE).read_bytes() == content


def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreFailed):
        audit_key(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_home_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed):
        audit_key(tmp_path / "missing")
