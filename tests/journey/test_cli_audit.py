"""What was done, looked up and verified from outside."""

import json
import stat
from pathlib import Path

import apsw
import pytest

from journey.cli_program import Program, scripted


@pytest.fixture
def lived(tmp_path: Path) -> Program:
    """Return a home in which a command was run."""
    hermes = scripted(tmp_path)
    assert hermes.run("chat", "--session", "main", "-q", "run echo blue elephant").status == 0
    return hermes


def forge(hermes: Program, *statements: str) -> None:
    db = apsw.Connection(str(hermes.home / "hermes.db"))
    for name in ("audit_unchanged", "audit_kept"):
        db.execute(f"DROP TRIGGER IF EXISTS {name}")
    for sql in statements:
        db.execute(sql)
    db.close()


def test_an_empty_home_has_an_empty_record_and_is_not_made(tmp_path: Path) -> None:
    hermes = Program(tmp_path)
    assert hermes.run("audit", "show", "--json").document == []
    assert hermes.run("audit").status == 0
    done = hermes.run("audit", "verify", "--json")
    assert (done.status, done.document) == (0, {"sound": True, "faults": [], "heads": {}})
    assert not hermes.home.exists()


def test_what_a_command_did_is_on_record(lived: Program) -> None:
    rows = lived.run("audit", "show", "--json").document
    kinds = [row["kind"] for row in rows]
    assert "started" in kinds
    assert kinds.index("started") < kinds.index("ended")
    body = rows[kinds.index("started")]["body"]
    assert body["tool"] == "terminal"
    assert json.loads(body["arguments"])["command"] == "echo blue elephant"
    assert body["session"] == "agent:main:local:dm:main"
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    assert rows[0]["at"].endswith("+00:00")
    table = lived.run("audit", "show").out.splitlines()
    assert table[0].split() == ["WHEN", "WHAT", "WHO", "SESSION", "MORE"]
    assert any("echo blue elephant" in line for line in table)


def test_the_record_is_cut_to_what_was_asked_for(lived: Program) -> None:
    lived.run("chat", "-q", "run echo more", "--session", "other")
    whole = lived.run("audit", "show", "--json").document
    assert lived.run("audit", "show", "--json", "-n", "1").document == whole[-1:]
    other = lived.run("audit", "show", "--json", "--session", "other").document
    assert 0 < len(other) < len(whole)
    assert {row["body"]["session"] for row in other} == {"agent:main:local:dm:other"}
    assert lived.run("audit", "show", "--json", "--since", "1h").document == whole
    assert lived.run("audit", "show", "--json", "--since", "2999-01-01").document == []
    assert lived.run("audit", "show", "--since", "yesterday").status == 2
    assert lived.run("audit", "show", "--session", "none").status == 1
    lived.run("sessions", "delete", "other", "--yes")
    key = "agent:main:local:dm:other"
    assert lived.run("audit", "show", "--json", "--session", key).document == other


def test_aud_02_verify_says_what_was_changed(lived: Program) -> None:
    done = lived.run("audit", "verify")
    assert (done.status, done.out.startswith("sound: main at ")) == (0, True)
    heads = lived.home / "audit.heads"
    assert stat.S_IMODE(heads.stat().st_mode) == 0o600
    noted = heads.read_bytes()
    forge(lived, "UPDATE audit SET at = at + 60 WHERE seq = 2")
    done = lived.run("audit", "verify", "--json")
    assert (done.status, done.document["sound"]) == (1, False)
    assert any("entry 2 was changed" in fault for fault in done.document["faults"])
    assert heads.read_bytes() == noted, "what was there stays noted"


def test_aud_02_a_record_that_was_cut_off_or_is_gone_is_missed(lived: Program) -> None:
    assert lived.run("audit", "verify").status == 0
    forge(lived, "DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)")
    done = lived.run("audit", "verify")
    assert (done.status, "entries" in done.out) == (1, True)
    for file in lived.home.glob("hermes.db*"):
        file.unlink()
    done = lived.run("audit", "verify")
    assert (done.status, "the database is gone" in done.out) == (1, True)


def test_aud_02_a_swapped_key_is_noticed(lived: Program) -> None:
    key = lived.home / "audit.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.write_bytes(bytes(32))
    done = lived.run("audit", "verify")
    assert (done.status, "another key" in done.out) == (1, True)


def test_aud_03_nothing_in_the_record_has_power_over_a_terminal(tmp_path: Path) -> None:
    hermes = scripted(tmp_path)
    odd = "run echo '\x1b[2J\x07 \u202e \u2028 owl'"
    hermes.run("chat", "--session", "main", "-q", odd)  # needs approval
    for done in (hermes.run("audit", "show"), hermes.on_terminal("audit", "show")):
        assert "owl" in done.out or "…" in done.out
        text = done.out.replace("\x1b[2m", "").replace("\x1b[0m", "").replace("\x1b[22m", "")
        assert not {"\x07", "\u202e", "\u2028"} & set(text)
        assert "\x1b[2J" not in text
    rows = hermes.run("audit", "show", "--json").document
    assert any("\u202e" in row["body"].get("arguments", "") for row in rows)


def test_a_damaged_note_says_what_to_do(lived: Program) -> None:
    (lived.home / "audit.heads").write_text("{nonsense", encoding="utf-8")
    done = lived.run("audit", "verify")
    assert done.status == 1
    assert "remove it" in done.err


def test_a_backup_with_secrets_can_be_verified_in_another_home(
    lived: Program, tmp_path: Path
) -> None:
    assert lived.run("backup", "all.tar.gz", "--with-secrets").status == 0
    assert lived.run("audit", "verify").status == 0
    (tmp_path / "next").mkdir()
    other = scripted(tmp_path / "next")
    assert other.run("restore", str(tmp_path / "all.tar.gz")).status == 0
    assert other.run("audit", "verify").status == 0
    assert lived.run("chat", "--session", "main", "-q", "run echo later").status == 0
    assert lived.run("audit", "verify").status == 0
    assert lived.run("restore", str(tmp_path / "all.tar.gz"), "--force").status == 0
    assert lived.run("audit", "verify").status == 0, "it begins anew with what was restored"
