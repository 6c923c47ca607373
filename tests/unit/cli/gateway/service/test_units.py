"""Service files: exactly these, and read back by their readers as what was meant."""

import configparser
import os
import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.cli.gateway.service.units import UnitPlan, property_list, service_name, unit_text
from hermes.core.errors import Misconfigured

RUN = ("-I", "-m", "hermes", "gateway", "run")
PLAN = UnitPlan(
    command=("/opt/hermes/bin/python", *RUN),
    home="/home/you/.hermes",
    path="/usr/local/bin:/usr/bin",
    drain_s=60.0,
)
GOLDEN = """\
# Made by `hermes gateway install`, which replaces it. Put your changes into a drop-in:
# systemctl --user edit
[Unit]
Description=Hermes gateway
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart=/opt/hermes/bin/python -I -m hermes gateway run
WorkingDirectory=/home/you/.hermes
Environment=HERMES_HOME=/home/you/.hermes
Environment=PATH=/usr/local/bin:/usr/bin
KillMode=process
KillSignal=SIGTERM
OOMPolicy=continue
TimeoutStartSec=90
TimeoutStopSec=90
WatchdogSec=30
Restart=always
RestartSec=2
RestartPreventExitStatus=78
StandardOutput=journal
StandardError=journal
SyslogIdentifier=hermes-gateway

[Install]
WantedBy=default.target
"""
PRINTABLE = st.text(st.characters(codec="utf-8").filter(str.isprintable), max_size=30)
UNIT_WORDS = {"\\\\": "\\", '\\"': '"', "%%": "%"}


def read_back(line: str) -> list[str]:
    """The words of a line, as systemd.syntax and systemd.unit describe their reading."""
    words: list[str] = []
    rest = line
    while rest := rest.lstrip(" "):
        word, quoted = "", rest[0] == '"'
        rest = rest[1:] if quoted else rest
        while rest and rest[0] != ('"' if quoted else " "):
            known = UNIT_WORDS.get(rest[:2])
            assert known or rest[0] not in '%\\"', f"{line!r} means something else at {rest!r}"
            word, rest = word + (known or rest[0]), rest[2 if known else 1 :]
        if quoted:
            assert rest[0] == '"'
            rest = rest[1:]
        words.append(word)
    return words


def lines_of(text: str, key: str) -> list[str]:
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{key}=")]


def test_c08_the_unit_is_exactly_this() -> None:
    assert unit_text(PLAN) == GOLDEN


def test_c08_the_supervisor_waits_longer_than_the_drain() -> None:
    for drain_s, stop_s in ((0.0, 30), (60.0, 90), (61.2, 92), (86_400.0, 86_430)):
        plan = UnitPlan(command=PLAN.command, home=PLAN.home, path="", drain_s=drain_s)
        assert lines_of(unit_text(plan), "TimeoutStopSec") == [str(stop_s)]
        listed = plistlib.loads(property_list(plan, "x", output="/y"))
        assert listed["ExitTimeOut"] == stop_s
        assert listed["EnvironmentVariables"]["HERMES_STOP_LIMIT_S"] == str(stop_s)


def test_the_unit_is_made_of_sections_that_any_reader_knows() -> None:
    reader = configparser.RawConfigParser(strict=False, comment_prefixes="#")
    reader.read_string(unit_text(PLAN))
    assert reader.sections() == ["Unit", "Service", "Install"]
    assert reader["Service"]["KillMode"] == "process"


@given(word=PRINTABLE.filter(bool), home=PRINTABLE, path=PRINTABLE.filter(bool))
def test_every_word_is_read_back_as_it_was(word: str, home: str, path: str) -> None:
    folder = f"/{home}x"
    plan = UnitPlan(command=("/bin/python", word), home=folder, path=path, drain_s=1)
    text = unit_text(plan)
    command = read_back(lines_of(text, "ExecStart")[0])
    assert command == [":/bin/python" if "$" in word else "/bin/python", word]
    assigned = [read_back(line) for line in lines_of(text, "Environment")]
    assert assigned == [[f"HERMES_HOME={folder}"], [f"PATH={path}"]]
    assert lines_of(text, "WorkingDirectory") == [folder.replace("%", "%%")]
    assert len(text.splitlines()) == len(GOLDEN.splitlines())


@pytest.mark.parametrize("home", ["/a\nExecStart=/bin/evil", "/a\x00", "/a ", "/a\\", "/a\t"])
def test_a_home_that_no_unit_can_hold_is_refused(home: str) -> None:
    with pytest.raises(Misconfigured, match="HERMES_HOME"):
        unit_text(UnitPlan(command=PLAN.command, home=home, path="", drain_s=1))


@pytest.mark.parametrize("program", ["/a'b/python", '/a"b/python', "/a\\b/python", "/a\nb/python"])
def test_a_program_that_no_unit_can_hold_is_refused(program: str) -> None:
    with pytest.raises(Misconfigured, match="the program's path"):
        unit_text(UnitPlan(command=(program, *RUN), home="/a", path="", drain_s=1))


def test_the_property_list_says_the_same_to_launchd() -> None:
    assert plistlib.loads(property_list(PLAN, "hermes-gateway", output="/home/you/out")) == {
        "Label": "hermes-gateway",
        "ProgramArguments": ["/opt/hermes/bin/python", *RUN],
        "WorkingDirectory": "/home/you/.hermes",
        "EnvironmentVariables": {
            "HERMES_HOME": "/home/you/.hermes",
            "HERMES_STOP_LIMIT_S": "90",
            "PATH": "/usr/local/bin:/usr/bin",
        },
        "RunAtLoad": True,
        "KeepAlive": True,
        "ExitTimeOut": 90,
        "AbandonProcessGroup": True,
        "ProcessType": "Standard",
        "StandardOutPath": "/home/you/out",
        "StandardErrorPath": "/home/you/out",
    }


def test_each_home_has_a_service_of_its_own() -> None:
    default = Path("/home/you/.hermes")
    assert service_name(default, default) == "hermes-gateway"
    work = service_name(Path("/srv/Work home"), default)
    assert work.startswith("hermes-gateway-work-home-")
    assert work != service_name(Path("/srv2/Work home"), default)
    assert service_name(Path("/"), default).startswith("hermes-gateway-")


@given(PRINTABLE)
def test_a_services_name_is_fit_for_a_file(name: str) -> None:
    made = service_name(Path("/srv") / (name or "x"), Path("/home/you/.hermes"))
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert len(made) < 60


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_itself_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    program, home = tmp_path / "my $bin %h" / "python", tmp_path / 'ho "me" \\x %h'
    program.parent.mkdir()
    program.symlink_to("/bin/true")
    home.mkdir()
    plan = UnitPlan(command=(str(program), *RUN), home=str(home), path="/usr/bin", drain_s=60)
    file = tmp_path / "hermes-gateway-test.service"
    file.write_text(unit_text(plan))
    command = ["systemd-analyze", "--user", "verify", str(file)]
    environ = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
    found = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
