"""Later starts, with a stand-in for Python that tells how it was called: found, exact, at once."""

import os
import subprocess
from pathlib import Path

import pytest

from launch.checkouts import Checkout

TELL = '#!/bin/sh\necho called\nfor word in "$@"; do echo "<$word>"; done\n'


@pytest.fixture
def ready(checkout: Checkout) -> Checkout:
    """A checkout whose environment is whole, as far as the launcher can see."""
    (checkout.venv / "bin").mkdir(parents=True)
    (checkout.venv / "bin" / "python").write_text(TELL, encoding="utf-8")
    (checkout.venv / "bin" / "python").chmod(0o755)
    (checkout.venv / "hermes-stamp").write_text(f"# run 1.0\nroot {checkout.folder}\n")
    return checkout


def told(*words: str) -> str:
    return "".join(f"{line}\n" for line in ("called", *(f"<{word}>" for word in words)))


def program(checkout: Checkout, called: object = "") -> tuple[str, ...]:
    name = called or checkout.launcher
    return "-I", "-X", f"hermes={name}", f"{checkout.folder}/src/hermes/__main__.py"


def test_arguments_arrive_unchanged(ready: Checkout) -> None:
    words = ["chat", "-q", "two  words", "", "*", "$HOME", "a\nb", "--"]
    assert ready.run(*words) == (0, told(*program(ready), *words), "")


def test_standard_input_and_exit_status_are_the_programs(ready: Checkout) -> None:
    (ready.venv / "bin" / "python").write_text("#!/bin/sh\nread -r line\necho $line\nexit 75\n")
    done = subprocess.run(
        [ready.launcher], input="hello\n", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (75, "hello\n")


def test_works_through_links_and_from_any_folder(ready: Checkout, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "direct").symlink_to(ready.launcher)
    (tmp_path / "bin" / "hermes").symlink_to("../direct")
    (tmp_path / "folder link").symlink_to(ready.folder)
    calls = [
        (tmp_path, [tmp_path / "bin" / "hermes"]),
        (tmp_path / "bin", ["./hermes"]),
        (Path("/"), [tmp_path / "folder link" / "hermes"]),
        (ready.folder / "src", ["../hermes"]),
        (ready.folder, ["/bin/sh", "hermes"]),
    ]
    for folder, command in calls:
        done = subprocess.run(
            command, cwd=folder, env=ready.environment(), capture_output=True, text=True, check=True
        )
        called = "./hermes" if command[-1] == "hermes" else command[-1]
        assert (done.stdout, done.stderr) == (told(*program(ready, called)), "")


def test_runs_no_other_command_on_the_way(ready: Checkout) -> None:
    code, out, err = ready.run("--version", PATH="/nonexistent")
    assert (code, out, err) == (0, told(*program(ready), "--version"), "")


def test_read_only_checkout_uses_the_environment_in_the_cache(ready: Checkout) -> None:
    flat = str(ready.folder).replace("/", "-")
    cached = ready.machine / "home" / ".cache" / "hermes" / f"env{flat}-"
    cached.parent.mkdir(parents=True)
    ready.venv.rename(cached)
    assert ready.run("-V") == (0, told(*program(ready), "-V"), "")


@pytest.mark.parametrize(
    "stale",
    ["# run 0.9\nroot {root}\n", "# run 1.0\nroot /elsewhere\n", "# run 1.0\n", ""],
    ids=["another lock", "another checkout", "no checkout", "empty"],
)
def test_stale_stamp_is_not_taken_for_whole(ready: Checkout, stale: str) -> None:
    (ready.venv / "hermes-stamp").write_text(stale.format(root=ready.folder))
    (ready.machine / "bin" / "python3").unlink()
    code, out, err = ready.run("--version")
    assert (code, out) == (1, "")
    assert "needs Python 3.11 or newer" in err


def test_another_interpreter_is_asked_for_once(ready: Checkout) -> None:
    stamp = ready.venv / "hermes-stamp"
    assert ready.run("-V", HERMES_PYTHON="/nonexistent")[0] == 1
    stamp.write_text(stamp.read_text() + "python /nonexistent\n")
    assert ready.run("-V", HERMES_PYTHON="/nonexistent")[0] == 0


def test_old_interpreter_is_refused_by_name(checkout: Checkout) -> None:
    old = checkout.machine / "bin" / "old"
    checkout.command("old", "#!/bin/sh\nexit 1\n")
    code, _, err = checkout.run("-V", HERMES_PYTHON=os.fspath(old))
    assert code == 1
    assert f"HERMES_PYTHON={old} is not a Python 3.11 or newer" in err
