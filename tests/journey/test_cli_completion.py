"""`hermes completion`: the scripts, run by the shells that they are for."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hermes.cli.registry import FAMILIES
from journey.cli_program import Program

ZSH = """
_describe() { print -l -- ${(P)2} }
_files() { print -- FILES }
compadd() { shift; print -l -- $@ }
compdef() { : }
source $1
shift
words=("$@")
CURRENT=$#
_hermes | sed 's/:.*//'
"""
BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_hermes
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module", params=["bash", "zsh", "fish"])
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> "Shell":
    name = str(request.param)
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed here")
    folder = tmp_path_factory.mktemp(name)
    done = Program(folder).run("completion", name)
    assert (done.status, done.err) == (0, "")
    (folder / "script").write_text(done.out)
    (folder / "a-file.txt").write_text("")
    return Shell(name, folder)


class Shell:
    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder

    def offers(self, *words: str) -> set[str]:
        """Return the completions for the last word."""
        match self.name:
            case "bash":
                command = ["bash", "--norc", "-c", BASH, "bash", "./script", *words]
            case "zsh":
                command = ["zsh", "-f", "-c", ZSH, "zsh", "./script", *words]
            case _:
                line = " ".join(words)
                command = ["fish", "--no-config", "-c", f"source script; complete -C {line!r}"]
        done = subprocess.run(
            command, cwd=self._folder, capture_output=True, text=True, check=True, timeout=30
        )
        assert done.stderr == ""
        return {line.partition("\t")[0] for line in done.stdout.splitlines() if line}


def test_every_command_is_offered(shell: Shell) -> None:
    assert shell.offers("hermes", "") >= set(FAMILIES)
    for name, family in FAMILIES.items():
        if family.alone:
            assert shell.offers("hermes", name, "") >= {c.words[1] for c in family.entries}


def test_options_are_offered_where_they_belong(shell: Shell) -> None:
    found = shell.offers("hermes", "sessions", "list", "--")
    assert {"--limit", "--json"} <= found
    assert "--full" not in found
    assert "--session" in shell.offers("hermes", "chat", "--json", "--")


def test_values_are_offered(shell: Shell) -> None:
    assert {"bash", "zsh", "fish"} <= shell.offers("hermes", "completion", "")
    found = shell.offers("hermes", "sessions", "export", "x", "--format", "")
    assert found == {"markdown", "json", "jsonl"}
    files = shell.offers("hermes", "chat", "--file", "a-f")
    assert files in ({"a-file.txt"}, {"FILES"})
