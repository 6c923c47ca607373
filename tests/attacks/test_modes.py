"""PATH-4: what is ours is closed to others from its first moment, whatever the umask is."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.core.errors import StoreFailed
from hermes.views.files import new_file, whole_file
from tests.journey.cli_program import Program
from tests.journey.service_commands import end_gateway

WRITING = [
    {
        "match": "^write",
        "steps": [
            {
                "text": "I keep it.",
                "calls": [
                    {"tool": "write_file", "arguments": {"path": "note.txt", "content": "x"}},
                    {"tool": "terminal", "arguments": {"command": "echo hello"}},
                    {"tool": "memory", "arguments": {"action": "add", "content": "likes tea"}},
                    {
                        "tool": "skill_manage",
                        "arguments": {
                            "action": "create",
                            "name": "tea",
                            "why": "asked",
                            "description": "Makes tea",
                            "instructions": "Boil water.",
                        },
                    },
                ],
            },
            {"text": "Done."},
        ],
    },
    {"match": "", "steps": [{"text": "You said: {last}"}]},
]


class Careless(Program):
    """`hermes` of a person whose umask lets everyone read and write."""

    def command(self, *words: str) -> list[str]:
        return ["/bin/sh", "-c", 'umask 000; exec "$@"', "sh", *super().command(*words)]


@pytest.fixture
def hermes(tmp_path: Path) -> Iterator[Careless]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(WRITING))
    environ = {
        "HERMES_MODEL__PROVIDER": "scripted",
        "HERMES_MODEL__NAME": str(script),
        "XDG_RUNTIME_DIR": "/none",
    }
    yield Careless(tmp_path, environ)
    end_gateway(tmp_path / "home")


def open_to_others(home: Path) -> list[str]:
    """Return what others may read, write or enter, without the content of the workspace, whose
    folder is closed."""
    found = [home, *home.rglob("*")]
    ours = [path for path in found if home / "workspace" not in path.parents]
    return [
        f"{path.relative_to(home)}: {path.lstat().st_mode & 0o777:o}"
        for path in ours
        if not path.is_symlink() and path.lstat().st_mode & 0o077
    ]


def test_path_04_all_that_a_chat_leaves_is_closed_to_others(hermes: Careless) -> None:
    assert hermes.run("chat", "-q", "write it down").status == 0
    for words in (
        ("config", "set", "terminal.timeout_s", "90"),
        ("config", "set", "model.api_key", "sk-x"),
        ("memory", "add", "also coffee"),
        ("backup", str(hermes.home / "backup.tar.gz")),
    ):
        done = hermes.run(*words)
        assert done.status == 0, (words, done.err)
    made = {path.name for path in hermes.home.iterdir()}
    assert {"hermes.db", "config.yaml", ".env", "memories", "skills", "backup.tar.gz"} <= made
    assert "\n".join(open_to_others(hermes.home)) == ""


def test_path_04_all_that_a_gateway_leaves_is_closed_to_others(hermes: Careless) -> None:
    started = hermes.run("gateway", "start")
    assert started.status == 0, started.err
    assert hermes.run("chat", "-q", "write it down").status == 0
    assert (hermes.home / "gateway.sock").is_socket()
    assert "\n".join(open_to_others(hermes.home)) == "", "while it runs"
    assert hermes.run("gateway", "stop").status == 0
    assert open_to_others(hermes.home) == [], "after it stopped"


def test_path_04_a_file_is_replaced_as_a_whole_and_closed_from_its_first_moment(
    tmp_path: Path,
) -> None:
    before = os.umask(0)
    try:
        whole_file(tmp_path / "a/b/file", b"one")
        (tmp_path / "a/b/file").chmod(0o644)
        whole_file(tmp_path / "a/b/file", b"two")
    finally:
        os.umask(before)
    assert open_to_others(tmp_path / "a") == []
    assert (tmp_path / "a/b/file").read_bytes() == b"two"
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["file"]


def test_path_04_a_link_is_replaced_and_never_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"theirs")
    (tmp_path / "file").symlink_to("victim")
    whole_file(tmp_path / "file", b"ours")
    (tmp_path / "file").unlink()
    (tmp_path / "file").symlink_to("victim")
    new_file(tmp_path / "file", b"ours")
    assert (tmp_path / "victim").read_bytes() == b"theirs"
    assert not (tmp_path / "file").is_symlink()


def test_path_04_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    (tmp_path / "folder/inside").mkdir(parents=True)
    with pytest.raises(StoreFailed, match="cannot be written"):
        whole_file(tmp_path / "folder", b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]


KILLED = """
import os, signal, sys
from pathlib import Path
from hermes.views.files import whole_file
count = 0
def audit(event, arguments):
    global count
    if event in ("open", "os.rename", "os.remove", "os.mkdir") and "place" in str(arguments):
        count += 1
        if count == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(audit)
os.umask(0)
whole_file(Path(sys.argv[1]), b"new" * 100_000)
"""


def test_path_04_a_write_killed_anywhere_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    seen, code = set(), -1
    for at in range(1, 20):
        target = tmp_path / f"place-{at}" / "file"
        whole_file(target, b"old")
        environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
        command = [sys.executable, "-c", KILLED, str(target), str(at)]
        code = subprocess.run(command, env=environ, check=False).returncode
        content = target.read_bytes()
        assert content in (b"old", b"new" * 100_000)
        assert open_to_others(target.parent) == []
        seen.add(content[:3])
        if code == 0:
            break
    assert code == 0
    assert seen == {b"old", b"new"}
