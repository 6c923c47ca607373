"""What we learn from the supervisor that started us: how long it waits before it kills."""

import math
import stat
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.cli.gateway.service.limit import seconds_of, stop_limit

PID = 4242
UNIT = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/hermes-gateway.service\n"
SPANS = {
    "1min 30s": 90.0,
    "infinity": math.inf,
    "90000000": 90.0,
    "18446744073709551615": math.inf,
    "1h 1min 1s": 3661.0,
    "2w 1d": 15 * 86400.0,
    "1.5s": 1.5,
    "250ms": 0.25,
    "5us": 5e-6,
    "0": 0.0,
    " 15s\n": 15.0,
}


def systemctl(folder: Path, script: str) -> dict[str, str]:
    """The environment of a process that systemd started, with this program as its systemctl."""
    program = folder / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -I\nimport sys, time\nwords = sys.argv[1:]\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (folder / "cgroup").write_text(UNIT)
    return {"PATH": str(program.parent), "INVOCATION_ID": "1"}


@pytest.mark.parametrize("span", SPANS)
def test_a_span_is_read_as_systemd_prints_it(span: str) -> None:
    assert seconds_of(span) == pytest.approx(SPANS[span])


@pytest.mark.parametrize("nonsense", ["", "soon", "1 parsec", "s", "1min x", "-5s", "[not set]"])
def test_what_is_no_span_is_no_limit(nonsense: str) -> None:
    assert seconds_of(nonsense) is None


@given(hours=st.integers(0, 500), minutes=st.integers(0, 59), seconds=st.integers(0, 59))
def test_any_span_is_the_sum_of_its_pieces(hours: int, minutes: int, seconds: int) -> None:
    pieces = [(hours, "h"), (minutes, "min"), (seconds, "s")]
    span = " ".join(f"{number}{name}" for number, name in pieces if number)
    expected = hours * 3600 + minutes * 60 + seconds
    assert seconds_of(span) == (pytest.approx(expected) if expected else None)


@given(st.text(max_size=30))
def test_no_text_breaks_the_reading_of_a_span(text: str) -> None:
    seconds = seconds_of(text)
    assert seconds is None or seconds >= 0


def test_c08_the_stop_limit_is_asked_of_the_unit_that_we_are(tmp_path: Path) -> None:
    environ = systemctl(
        tmp_path,
        f"""
if words == ["--user", "show", "-p", "MainPID", "-p", "TimeoutStopUSec", "--",
             "hermes-gateway.service"]:
    print("TimeoutStopUSec=1min 30s", "MainPID={PID}", sep=chr(10))
""",
    )
    assert stop_limit(environ, PID, tmp_path / "cgroup") == 90.0
    assert stop_limit(environ, PID + 1, tmp_path / "cgroup") is None


def test_the_system_manager_is_asked_when_the_users_does_not_know_us(tmp_path: Path) -> None:
    script = f"""print("MainPID={PID}" if words[0] == "--system" else "MainPID=0")
print("TimeoutStopUSec=infinity")"""
    assert stop_limit(systemctl(tmp_path, script), PID, tmp_path / "cgroup") == math.inf


@pytest.mark.parametrize(
    "cgroup", ["0::/\n", "0::/user.slice/session-1.scope\n", "garbage", "5:cpu:/a.service\n"]
)
def test_who_is_in_no_service_has_no_limit(tmp_path: Path, cgroup: str) -> None:
    environ = systemctl(tmp_path, f"print('MainPID={PID}\\nTimeoutStopUSec=5s')")
    (tmp_path / "cgroup").write_text(cgroup)
    assert stop_limit(environ, PID, tmp_path / "cgroup") is None


def test_nobody_is_asked_when_systemd_did_not_start_us(tmp_path: Path) -> None:
    environ = systemctl(tmp_path, f"print('MainPID={PID}\\nTimeoutStopUSec=5s')")
    assert stop_limit({"PATH": environ["PATH"]}, PID, tmp_path / "cgroup") is None
    assert stop_limit({**environ, "PATH": "/nowhere"}, PID, tmp_path / "cgroup") is None
    assert stop_limit(environ, PID, tmp_path / "no such file") is None


def test_a_systemctl_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    environ = systemctl(tmp_path, "time.sleep(60)")
    began = time.monotonic()
    assert stop_limit(environ, PID, tmp_path / "cgroup") is None
    assert time.monotonic() - began < 30


def test_a_supervisor_that_cannot_be_asked_may_say_it_in_the_environment() -> None:
    assert stop_limit({"HERMES_STOP_LIMIT_S": "90"}, PID) == 90.0
    assert stop_limit({"HERMES_STOP_LIMIT_S": "x"}, PID) is None
