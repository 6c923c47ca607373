"""A supervisor runs the gateway: it gets every start and stop, and no command bypasses it.

The supervisors here are programs of ours that note what they were called with and keep one real
process; docs/GATEWAY.md tells how the same was tried with systemd itself.
"""

import os
import plistlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.cli.gateway.service.lock import alive, held
from journey.service_commands import Commands


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Commands]:
    commands = Commands(tmp_path)
    commands.give_supervisor()
    yield commands
    commands.clean()


@pytest.fixture
def launchd(tmp_path: Path) -> Iterator[Commands]:
    commands = Commands(tmp_path)
    commands.give_supervisor(platform="darwin")
    yield commands
    commands.clean()


def test_install_writes_the_unit_and_starts_it(systemd: Commands) -> None:
    done = systemd.do("install")
    unit = systemd.unit
    assert done.status == 0
    assert done.out.splitlines() == [
        f"{unit} is written",
        f"The gateway of {systemd.home} runs, kept by systemd",
    ]
    assert "loginctl enable-linger" in done.err
    begun = ["systemctl --user daemon-reload", "systemctl --user enable UNIT"]
    assert systemd.calls() == [*begun, "systemctl --user start UNIT"]
    assert f"Environment=HERMES_HOME={systemd.home}\n" in unit.read_text()
    assert "KillMode=process\n" in unit.read_text()
    assert held(systemd.home)


def test_a_second_install_changes_nothing(systemd: Commands) -> None:
    systemd.do("install")
    before, text = systemd.noted(), systemd.unit.read_bytes()
    systemd.supervisor("linger", "yes")
    done = systemd.do("install")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"{systemd.unit} is up to date\n")
    assert (systemd.noted(), systemd.unit.read_bytes()) == (before, text)


def test_an_install_over_a_running_one_says_how_the_change_takes_effect(systemd: Commands) -> None:
    systemd.do("install")
    systemd.home.joinpath("config.yaml").write_text("gateway: {drain_timeout_s: 300}\n")
    done = systemd.do("install")
    assert (done.status, "is written" in done.out) == (0, True)
    assert f"systemctl --user restart {systemd.unit.name}" in done.err
    assert "TimeoutStopSec=330\n" in systemd.unit.read_text()


def test_variables_of_the_shell_are_named_when_a_service_will_not_see_them(
    systemd: Commands,
) -> None:
    systemd.environ["HERMES_MODEL__API_KEY"] = "sk-secret"
    done = systemd.do("install")
    assert "HERMES_MODEL__API_KEY" in done.err
    assert "sk-secret" not in done.err + done.out + systemd.unit.read_text()


def test_an_install_beside_a_background_gateway_is_status_75(systemd: Commands) -> None:
    systemd.do("start")
    done = systemd.do("install")
    assert (done.status, done.out) == (75, "")
    assert "hermes gateway stop" in done.err
    assert not systemd.unit.exists()


def test_a_masked_unit_is_not_written_through(systemd: Commands) -> None:
    systemd.do("install")
    systemd.do("stop")
    unit = systemd.unit
    unit.unlink()
    unit.symlink_to("/dev/null")
    done = systemd.do("install")
    assert (done.status, f"rm {unit}" in done.err) == (1, True)
    assert Path("/dev/null").is_char_device()


def test_an_install_whose_start_fails_tells_its_last_words(systemd: Commands) -> None:
    systemd.supervisor("failing")
    done = systemd.do("install")
    assert (done.status, systemd.unit.exists()) == (1, True)
    assert done.err.startswith("  its last words\nhermes: systemctl --user start")
    assert "Job for it failed. See: journalctl" in done.err
    assert "hermes gateway uninstall" in done.err
    again = systemd.do("start")
    assert (again.status, again.out) == (1, "")
    assert again.err.startswith("  its last words\nhermes: ")


def test_what_a_supervisor_keeps_is_started_and_stopped_by_it(systemd: Commands) -> None:
    systemd.do("install")
    systemd.calls()
    stopped = systemd.do("stop")
    assert (stopped.status, systemd.calls()) == (0, ["systemctl --user stop --no-block UNIT"])
    assert not held(systemd.home)
    started = systemd.do("start")
    assert (started.status, systemd.calls()) == (0, ["systemctl --user start UNIT"])
    pid = systemd.noted().pid
    assert started.out == f"The gateway runs on {systemd.home}: pid {pid}, kept by systemd\n", (
        started.err
    )
    assert systemd.do("start").status == 75


def test_a_restart_keeps_the_process_that_the_supervisor_watches(systemd: Commands) -> None:
    systemd.do("install")
    systemd.calls()
    before = systemd.noted()
    done = systemd.do("restart")
    assert (done.status, systemd.noted().pid) == (0, before.pid)
    assert systemd.noted() != before
    assert systemd.calls() == []


def test_a_turn_stops_a_supervised_gateway_without_waiting(systemd: Commands) -> None:
    drained = systemd.hang()
    systemd.do("install")
    systemd.calls()
    systemd.environ["HERMES_TURN"] = "turn-1"
    done = systemd.do("stop")
    assert (done.status, held(systemd.home)) == (0, True)
    assert systemd.calls() == ["systemctl --user stop --no-block UNIT"]
    refused = systemd.do("uninstall")
    assert (refused.status, systemd.unit.exists()) == (75, True)
    drained.touch()
    systemd.until_free()


def test_a_background_gateway_beside_an_installed_unit_is_stopped_by_signal(
    systemd: Commands,
) -> None:
    systemd.do("install")
    systemd.do("stop")
    unit = systemd.unit.rename(systemd.folder / "aside")
    systemd.do("start")
    unit.rename(systemd.folder / ".config/systemd/user" / "hermes-gateway-aside.service")
    systemd.calls()
    assert systemd.do("stop").status == 0
    assert not held(systemd.home)
    assert systemd.calls() == []


def test_uninstall_takes_all_of_it_away_and_is_fine_twice(systemd: Commands) -> None:
    systemd.do("install")
    unit, pid = systemd.unit, systemd.noted().pid
    systemd.calls()
    done = systemd.do("uninstall")
    assert (done.status, done.out) == (0, f"The gateway has stopped\n{unit} is removed\n")
    told = [line.replace(unit.name, "UNIT") for line in systemd.calls()]
    assert told == [
        "systemctl --user stop --no-block UNIT",
        "systemctl --user disable UNIT",
        "systemctl --user daemon-reload",
        "systemctl --user reset-failed UNIT",
    ]
    assert (unit.exists(), alive(pid)) == (False, False)
    again = systemd.do("uninstall")
    assert (again.status, again.out) == (0, f"No service is installed for {systemd.home}\n")


def test_an_uninstall_that_takes_too_long_takes_nothing_away(systemd: Commands) -> None:
    systemd.hang()
    systemd.environ["HERMES_GATEWAY__DRAIN_TIMEOUT_S"] = "0"
    systemd.do("install")
    done = systemd.do("uninstall")
    assert (done.status, systemd.unit.exists()) == (75, True)
    assert alive(systemd.noted().pid)


def test_a_supervisor_that_does_not_answer_is_not_needed_to_start(systemd: Commands) -> None:
    systemd.do("install")
    systemd.do("stop")
    systemd.supervisor("silent")
    started = systemd.do("start")
    assert (started.status, "in the background" in started.out) == (0, True)
    assert systemd.do("install").status == 1
    stuck = systemd.do("uninstall")
    assert (stuck.status, "systemd does not answer" in stuck.err) == (1, True)
    assert systemd.do("stop").status == 0


def test_force_ends_what_hangs_and_the_supervisor_does_not_bring_it_back(systemd: Commands) -> None:
    systemd.hang()
    systemd.do("install")
    systemd.calls()
    pid = systemd.noted().pid
    done = systemd.do("stop", "--force")
    assert (done.status, alive(pid)) == (0, False)
    assert systemd.calls() == ["systemctl --user stop --no-block UNIT"]


def test_the_manager_is_found_after_su(systemd: Commands) -> None:
    """`su` leaves no XDG_RUNTIME_DIR behind; where the folder is there, it is meant."""
    runtime = Path("/run/user") / str(os.getuid())
    script = systemd.folder / "bin" / "systemctl"
    script.write_text(f'#!/bin/sh\necho "$XDG_RUNTIME_DIR" > "{systemd.folder}/seen"\nexit 1\n')
    systemd.do("install")
    expected = str(runtime) if runtime.is_dir() else ""
    assert (systemd.folder / "seen").read_text().strip() == expected


def test_launchd_is_told_in_its_own_words(launchd: Commands) -> None:
    done = launchd.do("install")
    assert done.status == 0, done.err
    listed = plistlib.loads(launchd.agent.read_bytes())
    label, domain = listed["Label"], f"gui/{os.getuid()}"
    assert listed["StandardOutPath"] == str(launchd.home / "logs" / "gateway.out")
    assert launchd.calls() == [
        f"launchctl enable {domain}/{label}",
        f"launchctl bootstrap {domain} {launchd.agent}",
    ]
    pid = launchd.noted().pid
    again = launchd.do("install")
    assert (again.status, launchd.calls()) == (0, [f"launchctl enable {domain}/{label}"])
    assert launchd.do("stop").status == 0
    assert (held(launchd.home), alive(pid)) == (False, False)
    assert launchd.calls() == [f"launchctl bootout {domain}/{label}"]
    started = launchd.do("start")
    assert (started.status, "kept by launchd" in started.out) == (0, True)
    assert launchd.do("restart").status == 0
    file = launchd.agent
    assert launchd.do("uninstall").status == 0
    assert (file.exists(), held(launchd.home)) == (False, False)


def test_one_that_launchd_starts_anew_is_waited_for(launchd: Commands) -> None:
    launchd.do("install")
    os.kill(launchd.noted().pid, signal.SIGKILL)
    launchd.until_free()
    done = launchd.do("start")
    assert done.status == 0
    assert any("kickstart" in line for line in launchd.calls())
