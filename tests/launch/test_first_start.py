"""The first start, with real pip and real processes: whatever happens to it, the next one works."""

import os
import signal
import time
from pathlib import Path

from hermes import __version__
from launch.checkouts import Checkout

VERSION = f"hermes {__version__}\n"


def leftovers(checkout: Checkout) -> list[str]:
    return sorted(p.name for p in checkout.folder.glob(".venv.*-*"))


def test_first_start_sets_up_and_answers_on_standard_output_only(checkout: Checkout) -> None:
    code, out, err = checkout.run("--version")
    assert (code, out) == (0, VERSION), err
    assert "first start" in err
    assert checkout.feather() == "1.0"
    assert checkout.run("--version") == (0, VERSION, "")


def test_killed_half_way_the_next_start_builds_anew(checkout: Checkout, tmp_path: Path) -> None:
    reached = tmp_path / "reached"
    checkout.command("uv", f"#!/bin/sh\n: >'{reached}'\nread -r forever <'{tmp_path}/never'\n")
    os.mkfifo(tmp_path / "never")
    started = checkout.begin("--version")
    while not reached.exists():
        assert started.poll() is None
        time.sleep(0.01)
    started.kill()
    started.communicate()
    assert not checkout.venv.exists()
    assert len(leftovers(checkout)) == 1
    # The orphan waits for a writer; opening the pipe lets it go.
    os.close(os.open(tmp_path / "never", os.O_WRONLY))
    (checkout.machine / "bin" / "uv").unlink()
    assert checkout.run("--version")[:2] == (0, VERSION)
    assert leftovers(checkout) == []


def test_terminated_half_way_leaves_nothing_behind(checkout: Checkout, tmp_path: Path) -> None:
    reached = tmp_path / "reached"
    checkout.command("uv", f"#!/bin/sh\n: >'{reached}'\nread -r forever <'{tmp_path}/never'\n")
    os.mkfifo(tmp_path / "never")
    started = checkout.begin("--version")
    while not reached.exists():
        assert started.poll() is None
        time.sleep(0.01)
    started.send_signal(signal.SIGTERM)
    started.communicate(timeout=60)
    assert started.returncode == 128 + signal.SIGTERM
    assert not checkout.venv.exists()
    assert leftovers(checkout) == []


def test_two_at_once_build_one_environment(checkout: Checkout) -> None:
    both = [checkout.begin("--version") for _ in range(2)]
    told = [one.communicate(timeout=120) for one in both]
    assert [out for out, _ in told] == [VERSION, VERSION]
    assert sum("first start" in err for _, err in told) == 1
    assert leftovers(checkout) == []


def test_changed_lock_updates_the_environment(checkout: Checkout) -> None:
    checkout.run("--version")
    checkout.lock("2.0")
    code, out, err = checkout.run("--version")
    assert (code, out) == (0, VERSION)
    assert "updating" in err
    assert checkout.feather() == "2.0"


def test_removed_interpreter_is_replaced(checkout: Checkout) -> None:
    checkout.run("--version")
    (checkout.venv / "bin" / "python").unlink()
    (checkout.venv / "bin" / "python").symlink_to("/nonexistent/python3.11")
    assert checkout.run("--version")[:2] == (0, VERSION)
    assert checkout.run("--version") == (0, VERSION, "")


def test_moved_checkout_runs_its_own_source(checkout: Checkout, tmp_path: Path) -> None:
    checkout.run("--version")
    moved = Checkout(checkout.folder.rename(tmp_path / "moved"), checkout.machine)
    assert moved.run("--version")[:2] == (0, VERSION)
    assert moved.run("--version") == (0, VERSION, "")


def test_wrong_hash_is_refused_with_the_reason_and_the_log(checkout: Checkout) -> None:
    checkout.lock("1.0", digest="0" * 64)
    code, out, err = checkout.run("--version")
    assert (code, out) == (1, "")
    assert "could not be installed" in err
    assert "HASH" in err.upper()
    assert str(checkout.folder / ".venv.log") in err
    assert not checkout.venv.exists()


def test_failed_update_keeps_the_old_environment(checkout: Checkout) -> None:
    checkout.run("--version")
    checkout.lock("2.0", digest="0" * 64)
    assert checkout.run("--version")[0] == 1
    assert checkout.feather() == "1.0"
    checkout.lock("1.0")
    assert checkout.run("--version") == (0, VERSION, "")


def test_somebody_elses_environment_is_left_alone(checkout: Checkout) -> None:
    checkout.venv.mkdir()
    (checkout.venv / "mine").touch()
    assert checkout.run("--version")[:2] == (0, VERSION)
    assert checkout.run("--version") == (0, VERSION, "")
    assert [p.name for p in checkout.venv.iterdir()] == ["mine"]


def test_added_set_stays_through_updates(checkout: Checkout) -> None:
    checkout.run("--version")
    checkout.lock("1.0", name="more")
    assert checkout.run("--version", HERMES_WITH="more")[:2] == (0, VERSION)
    checkout.lock("2.0")
    checkout.lock("2.0", name="more")
    checkout.run("--version")
    assert checkout.run("--version", HERMES_WITH="more") == (0, VERSION, "")


def test_unknown_set_is_named(checkout: Checkout) -> None:
    code, _, err = checkout.run("--version", HERMES_WITH="nope")
    assert code == 1
    assert "requirements/nope.txt does not exist" in err


def test_an_added_set_goes_on_top_of_what_is_there(checkout: Checkout) -> None:
    checkout.run("--version")
    mark = checkout.venv / "of the first build"
    mark.touch()
    checkout.lock("3.0", name="more")
    code, out, err = checkout.run("--version", HERMES_WITH="more")
    assert (code, out) == (0, VERSION)
    assert "adding more to the Python environment" in err
    assert (mark.exists(), checkout.feather()) == (True, "3.0")
    assert leftovers(checkout) == []


def test_a_set_that_cannot_be_added_leaves_the_environment_alone(checkout: Checkout) -> None:
    checkout.run("--version")
    checkout.lock("3.0", name="more", digest="0" * 64)
    assert checkout.run("--version", HERMES_WITH="more")[0] == 1
    assert checkout.run("--version") == (0, VERSION, "")
    assert checkout.feather() == "1.0"
    assert leftovers(checkout) == []
