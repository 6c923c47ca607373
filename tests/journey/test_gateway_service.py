"""Starting, stopping and restarting a gateway from outside: real processes, real signals."""

import os
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.cli.gateway.service.lock import LOCK, alive, held, note
from journey.cli_program import Program
from journey.service_commands import Commands, end_gateway


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Commands]:
    """Yield the commands on a machine without a supervisor."""
    commands = Commands(tmp_path, {"PATH": "/nowhere:/usr/bin:/bin", "FAKE_PLATFORM": "plan9"})
    yield commands
    commands.clean()


def test_a_gateway_is_started_in_the_background_and_stopped(gateway: Commands) -> None:
    done = gateway.run("start")
    pid = gateway.noted().pid
    assert (done.status, done.err) == (0, "")
    assert done.out == f"The gateway runs on {gateway.home}: pid {pid}, in the background\n"
    assert held(gateway.home)
    assert os.getsid(pid) == pid
    assert stat.S_IMODE((gateway.home / "logs" / "gateway.out").stat().st_mode) == 0o600
    stopped = gateway.run("stop")
    assert (stopped.status, stopped.out, stopped.err) == (0, "The gateway has stopped\n", "")
    assert not held(gateway.home)


def test_the_real_gateway_is_started_restarted_and_stopped(tmp_path: Path) -> None:
    hermes = Program(tmp_path, {"HERMES_MODEL__PROVIDER": "scripted", "XDG_RUNTIME_DIR": "/none"})
    try:
        started = hermes.run("gateway", "start")
        assert (started.status, "in the background" in started.out) == (0, True), started.err
        assert hermes.run("gateway", "status", "--json").document["state"] == "ready"
        first = note(hermes.home)
        assert hermes.run("gateway", "start").status == 75
        restarted = hermes.run("gateway", "restart")
        assert restarted.status == 0, restarted.err
        assert hermes.run("gateway", "status", "--json").document["state"] == "ready"
        second = note(hermes.home)
        assert first is not None
        assert second is not None
        assert (second.pid, second.started_at > first.started_at) == (first.pid, True)
        assert hermes.run("gateway", "stop").out == "The gateway has stopped\n"
        assert not held(hermes.home)
    finally:
        end_gateway(hermes.home)


def test_a_second_start_is_status_75_and_changes_nothing(gateway: Commands) -> None:
    gateway.do("start")
    before = gateway.noted()
    done = gateway.do("start")
    assert (done.status, done.out, gateway.noted()) == (75, "", before)
    assert "already running" in done.err
    assert f": pid {before.pid}" in done.err
    assert done.err.count("\n") == 1


def test_of_two_starts_at_once_one_wins(gateway: Commands) -> None:
    gateway.environ["FAKE_SLOW_S"] = "0.3"
    both = [gateway.start("start"), gateway.start("start")]
    said = [child.communicate(timeout=30) for child in both]
    assert sorted(child.returncode for child in both) == [0, 75], said
    assert held(gateway.home)


def test_stopping_what_does_not_run_is_fine(gateway: Commands) -> None:
    done = gateway.do("stop")
    assert (done.status, done.out) == (0, f"No gateway runs on {gateway.home}\n")
    assert not gateway.home.exists()


@pytest.mark.parametrize(("dies", "status"), [("3", 1), ("75", 75), ("78", 78)])
def test_one_that_dies_at_once_is_heard(gateway: Commands, dies: str, status: int) -> None:
    gateway.environ["FAKE_DIES"] = dies
    done = gateway.do("start")
    assert (done.status, done.out) == (status, "")
    assert done.err.startswith("  first line\n  it cannot be\nhermes: the gateway ended at once")
    assert f"with status {dies}" in done.err


def test_wrong_settings_are_told_before_anything_is_started(gateway: Commands) -> None:
    gateway.home.mkdir(mode=0o700)
    (gateway.home / "config.yaml").write_text("gatewy: {}\n")
    done = gateway.do("start")
    assert (done.status, "gatewy" in done.err) == (78, True)
    assert not (gateway.home / LOCK).exists()


def test_start_returns_when_the_gateway_is_ready_and_not_before(gateway: Commands) -> None:
    gateway.home.mkdir(mode=0o700)
    (gateway.home / "not-ready").touch()
    starting = gateway.start("start")
    gateway.until(lambda: held(gateway.home))
    time.sleep(0.3)
    assert starting.poll() is None
    (gateway.home / "not-ready").unlink()
    out, _err = starting.communicate(timeout=20)
    assert (starting.returncode, "The gateway runs" in out) == (0, True)


def test_one_that_never_gets_ready_is_told_and_left_alone(gateway: Commands) -> None:
    gateway.home.mkdir(mode=0o700)
    (gateway.home / "not-ready").touch()
    gateway.environ["FAKE_READY_S"] = "0.5"
    done = gateway.do("start")
    assert (done.status, "is not ready after" in done.err) == (1, True)
    assert alive(gateway.noted().pid)


def test_a_stop_waits_for_the_drain(gateway: Commands) -> None:
    gateway.environ["FAKE_DRAIN"] = "0.6"
    gateway.do("start")
    began = time.monotonic()
    assert gateway.do("stop").status == 0
    assert time.monotonic() - began >= 0.6
    assert not held(gateway.home)


def test_one_that_does_not_stop_is_never_killed_unasked(gateway: Commands) -> None:
    gateway.hang()
    gateway.environ["HERMES_GATEWAY__DRAIN_TIMEOUT_S"] = "0"
    gateway.do("start")
    pid = gateway.noted().pid
    done = gateway.do("stop")
    assert (done.status, done.out) == (75, "")
    assert "hermes gateway stop --force" in done.err
    assert alive(pid)
    forced = gateway.do("stop", "--force")
    assert (forced.status, forced.out) == (0, "The gateway was killed\n")
    assert "is killed (SIGKILL)" in forced.err
    assert not held(gateway.home)


def test_force_first_asks_a_second_time(gateway: Commands) -> None:
    """A gateway that is asked twice interrupts its turns in order, and need not be killed."""
    gateway.environ |= {"FAKE_HURRIES": "1", "FAKE_FORCE_S": "20"}
    gateway.hang()
    gateway.do("start")
    done = gateway.do("stop", "--force")
    assert (done.status, done.out, done.err) == (0, "The gateway has stopped\n", "")


def test_force_is_gentle_with_one_that_stops_by_itself(gateway: Commands) -> None:
    gateway.environ["FAKE_FORCE_S"] = "20"
    gateway.do("start")
    done = gateway.do("stop", "--force")
    assert (done.status, done.out, done.err) == (0, "The gateway has stopped\n", "")


def test_a_gateway_can_be_stopped_whatever_the_settings_say(gateway: Commands) -> None:
    gateway.do("start")
    (gateway.home / "config.yaml").write_text("gatewy: {}\n")
    assert gateway.do("stop").status == 0
    assert not held(gateway.home)


def test_c08_detached_commands_outlive_a_stop(gateway: Commands) -> None:
    gateway.environ["FAKE_DETACHED"] = str(gateway.folder / "detached")
    gateway.do("start")
    gateway.do("stop")
    detached = int((gateway.folder / "detached").read_text())
    assert alive(detached)
    os.kill(detached, signal.SIGKILL)


def test_a_restart_is_the_same_process_with_a_new_beginning(gateway: Commands) -> None:
    gateway.do("start")
    before = gateway.noted()
    done = gateway.do("restart")
    after = gateway.noted()
    assert (done.status, done.err) == (0, "")
    assert done.out == f"The gateway has restarted on {gateway.home}: pid {before.pid}\n"
    assert after.pid == before.pid
    assert after.started_at > before.started_at
    assert held(gateway.home)


def test_a_restart_waits_for_running_turns(gateway: Commands) -> None:
    gateway.environ["FAKE_DRAIN"] = "0.6"
    gateway.do("start")
    began = time.monotonic()
    assert gateway.do("restart").status == 0
    assert time.monotonic() - began >= 0.6


def test_a_restart_of_nothing_is_a_start(gateway: Commands) -> None:
    done = gateway.do("restart")
    assert (done.status, "in the background" in done.out) == (0, True)


def test_one_that_dies_while_it_restarts_is_started_anew(gateway: Commands) -> None:
    gateway.environ["FAKE_RESTART"] = "dies"
    gateway.do("start")
    before = gateway.noted()
    done = gateway.do("restart")
    assert (done.status, "in the background" in done.out) == (0, True)
    assert gateway.noted().pid != before.pid
    assert held(gateway.home)


def test_wrong_settings_do_not_cost_a_running_gateway(gateway: Commands) -> None:
    gateway.do("start")
    before = gateway.noted()
    (gateway.home / "config.yaml").write_text("gatewy: {}\n")
    assert gateway.do("restart").status == 78
    assert gateway.noted() == before


def test_c06_a_turn_that_restarts_the_gateway_does_not_wait_for_itself(gateway: Commands) -> None:
    drained = gateway.hang()
    gateway.do("start")
    before = gateway.noted()
    gateway.environ["HERMES_TURN"] = "turn-1"
    done = gateway.do("restart")
    assert (done.status, done.out) == (0, "The gateway restarts after this turn\n")
    assert gateway.noted() == before
    drained.touch()
    gateway.until(lambda: gateway.noted() != before)


@pytest.mark.parametrize("turn", ["", "turn-1"])
def test_a_gateway_that_refuses_to_restart_says_why(gateway: Commands, turn: str) -> None:
    gateway.environ["FAKE_REFUSES"] = "model.provider: no model is set up. Run: hermes model"
    gateway.do("start")
    before = gateway.noted()
    gateway.environ["HERMES_TURN"] = turn
    done = gateway.do("restart")
    assert (done.status, done.out) == (78, "")
    assert "keeps running as it is: model.provider: no model is set up" in done.err
    assert gateway.noted() == before


def test_a_turn_that_stops_the_gateway_does_not_wait_for_itself(gateway: Commands) -> None:
    drained = gateway.hang()
    gateway.do("start")
    gateway.environ["HERMES_TURN"] = "turn-1"
    done = gateway.do("stop")
    assert (done.status, held(gateway.home)) == (0, True)
    assert done.out.startswith("The gateway is stopping;")
    drained.touch()
    gateway.until_free()


def test_the_waiting_is_shown_on_a_terminal(gateway: Commands) -> None:
    gateway.environ["FAKE_SLOW_S"] = "1.3"
    done = gateway.on_terminal("start")
    assert done.status == 0
    assert "The gateway starts … 1 s" in done.out


def test_a_home_that_a_stranger_has_locked_is_not_touched(gateway: Commands) -> None:
    gateway.home.mkdir(mode=0o700)
    gateway.do("start")
    pid = gateway.noted().pid
    (gateway.home / LOCK).write_text("not a note")
    for words in (["start"], ["stop", "--force"]):
        done = gateway.do(*words)
        assert (done.status, "is locked" in done.err) == (75, True), words
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


def test_without_a_supervisor_an_install_says_what_to_do_instead(gateway: Commands) -> None:
    done = gateway.do("install")
    assert (done.status, done.out) == (1, "")
    assert "hermes gateway start" in done.err
    gone = gateway.do("uninstall")
    assert (gone.status, gone.out) == (0, f"No service is installed for {gateway.home}\n")
