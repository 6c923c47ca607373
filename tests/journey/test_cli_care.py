"""Doctor, backup and restore from outside."""

import tarfile
from pathlib import Path

import pytest

from journey.cli_program import Program, scripted
from journey.test_cli_chat import until_running


def place(folder: Path, name: str) -> Program:
    (folder / name).mkdir()
    return scripted(folder / name)


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    return place(tmp_path, "one")


def furnish(hermes: Program) -> None:
    """Fill a home with some of everything."""
    hermes.run("chat", "--session", "main", "-q", "remember this")
    (hermes.home / "config.yaml").write_text("# mine\nmodel: {api_key: sk-config-1}\n")
    (hermes.home / ".env").write_text("OTHER=sk-env-1\n")
    (hermes.home / "SOUL.md").write_text("kind")
    (hermes.home / "memories" / "USER.md").write_text("likes tea")
    (hermes.home / "skills" / "deep").mkdir()
    (hermes.home / "skills" / "deep" / "SKILL.md").write_text("a skill")
    (hermes.home / "skills" / "link").symlink_to("/etc/passwd")


def test_doctor_finds_nothing_wrong_with_a_good_home(hermes: Program) -> None:
    hermes.run("chat", "--session", "main", "-q", "hello")
    done = hermes.run("doctor")
    assert done.status == 0, done
    assert "FAIL" not in done.out
    assert "hermes.db is intact" in done.out


def test_doctor_names_every_failure_with_its_fix(hermes: Program) -> None:
    furnish(hermes)
    del hermes.environ["HERMES_MODEL__PROVIDER"]
    (hermes.home / "config.yaml").write_text("gateway: {busy: que}\nzzz: 1\n")
    hermes.home.chmod(0o755)
    (hermes.home / "hermes.db").write_bytes(b"not a database" * 1000)
    (hermes.home / ".restore-old").mkdir()
    done = hermes.run("doctor", "--json")
    assert (done.status, done.document["ok"]) == (1, False)
    fixes = {check["fix"] for check in done.document["checks"] if not check["ok"]}
    assert f"chmod 700 {hermes.home}" in fixes
    assert "hermes config set gateway.busy queue" in fixes
    assert "hermes model" in fixes
    assert f"rm -r {hermes.home / '.restore-old'}" in fixes
    assert any("hermes restore" in fix for fix in fixes)
    told = hermes.run("doctor")
    assert told.status == 1
    assert told.out.count("FAIL") == sum(not c["ok"] for c in done.document["checks"])


def test_doctor_asks_whether_the_model_could_be_asked(hermes: Program) -> None:
    hermes.environ |= {"HERMES_MODEL__PROVIDER": "openrouter", "HERMES_MODEL__NAME": "x"}
    checks = {check["check"]: check for check in hermes.run("doctor", "--json").document["checks"]}
    assert not checks["model"]["ok"]
    assert "OPENROUTER_API_KEY" in checks["model"]["fix"]
    hermes.environ["OPENROUTER_API_KEY"] = "sk-1"
    assert hermes.run("doctor", "--no-calls").status == 0


def test_a_backup_brings_everything_but_secrets_to_another_home(
    hermes: Program, tmp_path: Path
) -> None:
    furnish(hermes)
    made = hermes.run("backup", "../b.tar.gz")
    archive = tmp_path / "b.tar.gz"
    assert (made.status, made.out) == (0, f"{hermes.folder / '..' / 'b.tar.gz'}\n")
    assert "not a regular file" in made.err
    assert archive.stat().st_mode & 0o777 == 0o600
    with tarfile.open(archive) as tar:
        content = b"".join(f.read() for m in tar if (f := tar.extractfile(m)) is not None)
        assert ".env" not in tar.getnames()
    assert b"sk-config-1" not in content
    other = place(tmp_path, "two")
    done = other.run("restore", str(archive))
    assert done.status == 0, done
    assert "MODEL_API_KEY" in done.err
    assert not (other.home / "replaced").exists()
    assert other.run("config", "set", "MODEL_API_KEY", "sk-new").status == 0
    assert "remember this" in other.run("sessions", "show", "main").out
    assert (other.home / "config.yaml").read_text().startswith("# mine")
    assert (other.home / "memories" / "USER.md").read_text() == "likes tea"
    assert (other.home / "skills" / "deep" / "SKILL.md").read_text() == "a skill"
    assert not (other.home / "skills" / "link").exists()
    assert other.run("chat", "--session", "main", "-q", "hello").out == "You said: hello\n"


def test_a_backup_with_secrets_is_the_whole(hermes: Program, tmp_path: Path) -> None:
    furnish(hermes)
    assert hermes.run("backup", "b.tar.gz", "--with-secrets").status == 0
    assert hermes.run("backup", "b.tar.gz").status == 1
    other = place(tmp_path, "two")
    assert other.run("restore", str(hermes.folder / "b.tar.gz")).status == 0
    assert (other.home / ".env").read_text() == "OTHER=sk-env-1\n"
    assert "sk-config-1" in (other.home / "config.yaml").read_text()


def test_a_restore_over_conversations_needs_force_and_keeps_them_aside(hermes: Program) -> None:
    hermes.run("chat", "--session", "main", "-q", "old words")
    hermes.run("backup", "b.tar.gz")
    hermes.run("chat", "--session", "main", "-q", "new words")
    done = hermes.run("restore", "b.tar.gz")
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert "--force" in done.err
    done = hermes.run("restore", "b.tar.gz", "--force")
    assert done.status == 0
    shown = hermes.run("sessions", "show", "main").out
    assert "old words" in shown
    assert "new words" not in shown
    (kept,) = (hermes.home / "replaced").iterdir()
    hermes.environ["HERMES_HOME"] = str(kept)
    assert "new words" in hermes.run("sessions", "show", "main").out


def test_a_restore_is_refused_while_somebody_works_there(hermes: Program) -> None:
    hermes.run("chat", "--session", "main", "-q", "hello")
    hermes.run("backup", "b.tar.gz")
    child = hermes.start("chat", "--session", "main", "-q", "slow")
    try:
        until_running(hermes, child)
        during = hermes.run("backup", "c.tar.gz")
        done = hermes.run("restore", "b.tar.gz", "--force")
    finally:
        child.kill()
        child.communicate()
    assert during.status == 0
    assert (done.status, done.err.count("\n")) == (75, 1)
    assert hermes.run("restore", "c.tar.gz", "--force").status == 0
    assert hermes.run("doctor").status == 0


def test_a_damaged_backup_changes_nothing(hermes: Program) -> None:
    hermes.run("chat", "--session", "main", "-q", "hello")
    hermes.run("backup", "b.tar.gz")
    whole = (hermes.folder / "b.tar.gz").read_bytes()
    (hermes.folder / "b.tar.gz").write_bytes(whole[:-200])
    before = sorted(hermes.home.iterdir())
    for name in ("b.tar.gz", "script.json", "nowhere"):
        done = hermes.run("restore", name, "--force")
        assert (done.status, done.err.count("\n")) == (1, 1)
    assert sorted(hermes.home.iterdir()) == before
    assert hermes.run("chat", "--session", "main", "-q", "hello").status == 0


def test_a_home_that_does_not_exist_has_nothing_to_back_up(hermes: Program) -> None:
    done = hermes.run("backup")
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert list(hermes.folder.glob("*.gz")) == []
