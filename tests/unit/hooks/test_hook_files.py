"""HOOK.yaml: what may stand there, and what is said about the rest."""

import logging
import sys
from pathlib import Path

import pytest

from hermes.core.errors import Misconfigured
from hermes.hooks.declared import EVENTS, HOOKS_MAX, hooks_in, read_hook
from tests.unit.hooks.world import NOTES, write_hook


def problem(place: Path) -> str:
    with pytest.raises(Misconfigured) as wrong:
        read_hook(place, python=sys.executable)
    return str(wrong.value)


def test_a_folder_with_a_script_is_a_hook(tmp_path: Path) -> None:
    place = write_hook(tmp_path, "bell", "events: [turn:end]", python=NOTES)
    hook = read_hook(place, python="/usr/bin/python")
    assert hook is not None
    assert (hook.name, hook.timeout_s) == ("bell", 10.0)
    assert hook.command == ("/usr/bin/python", str(place / "handler.py"))
    assert hook.events == {"turn:end"}


def test_everything_can_be_written_down(tmp_path: Path) -> None:
    place = write_hook(
        tmp_path,
        "x",
        """
        name: doorbell
        description: Rings when somebody comes.
        events: [session:*, command]
        command: [./ring, --loud]
        timeout_s: 2.5
        enabled: true
        """,
    )
    hook = read_hook(place, python=sys.executable)
    assert hook is not None
    assert hook.name == "doorbell"
    assert hook.command == (str(place / "ring"), "--loud")
    assert hook.events == {"session:start", "session:end", "session:reset", "command"}
    assert hook.timeout_s == 2.5


def test_a_star_is_everything(tmp_path: Path) -> None:
    hook = read_hook(write_hook(tmp_path, "x", "events: ['*']", python=NOTES), python="py")
    assert hook is not None
    assert hook.events == set(EVENTS)


def test_an_executable_needs_no_command(tmp_path: Path) -> None:
    place = write_hook(tmp_path, "x", "events: [command]", handler="#!/bin/sh\n")
    assert "chmod +x" in problem(place)
    (place / "handler").chmod(0o755)
    hook = read_hook(place, python=sys.executable)
    assert hook is not None
    assert hook.command == (str(place / "handler"),)


def test_a_hook_can_be_switched_off(tmp_path: Path) -> None:
    place = write_hook(tmp_path, "x", "{events: [command], enabled: false}")
    assert read_hook(place, python=sys.executable) is None


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("", "HOOK.yaml: Expected `object`, got `null`. Its keys are"),
        ("events: [", "HOOK.yaml: is not valid YAML"),
        ("events: 2026-99-99", "HOOK.yaml: is not valid YAML"),
        ("[" * 500, "HOOK.yaml: is not valid YAML"),
        ("!!python/object/apply:os.system ['true']", "HOOK.yaml: is not valid YAML"),
        ("name: x", "HOOK.yaml: Object missing required field `events`"),
        ("events: []", "HOOK.yaml: has no events"),
        ("events: turn:end", "HOOK.yaml: Expected `array`, got `str` - at `$.events`"),
        ("events: [turn:begin]", "HOOK.yaml: there is no event “turn:begin”. The events are"),
        ("events: [turn*]", "HOOK.yaml: there is no event “turn*”"),
        ("{events: [command], timeout_s: 61}", "HOOK.yaml: Expected `float` <= 60.0"),
        ("{events: [command], timeout_s: 0}", "HOOK.yaml: Expected `float` > 0.0"),
        ("{events: [command], command: ring}", "HOOK.yaml: Expected `array`, got `str`"),
        ("{events: [command], tmeout: 1}", "HOOK.yaml: Object contains unknown field `tmeout`"),
        ("{events: [command], name: 'a b'}", "HOOK.yaml: “a b” is not a valid name for a hook"),
        ("events: [command]", "HOOK.yaml: has nothing to run. Put a handler.py"),
        ("#" * 70_000, "HOOK.yaml: has more than 16,000 bytes"),
    ],
)
def test_what_is_wrong_is_named_with_its_fix(tmp_path: Path, yaml: str, said: str) -> None:
    assert said in problem(write_hook(tmp_path, "x", yaml))


def test_a_bad_file_is_reported_and_the_others_are_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_hook(tmp_path, "bad", "events: [nothing]", python=NOTES)
    write_hook(tmp_path, "good", "events: [command]", python=NOTES)
    write_hook(tmp_path, "twin", "{events: [command], name: good}", python=NOTES)
    (tmp_path / "hooks" / "latin" / "HOOK.yaml").parent.mkdir()
    (tmp_path / "hooks" / "latin" / "HOOK.yaml").write_bytes(b"name: \xff")
    (tmp_path / "hooks" / "empty").mkdir()
    with caplog.at_level(logging.WARNING, "hermes.hooks"):
        hooks = hooks_in(tmp_path / "hooks", python=sys.executable)
    assert [hook.name for hook in hooks] == ["good"]
    assert len(caplog.records) == 3
    assert str(tmp_path / "hooks" / "bad" / "HOOK.yaml") in caplog.text


def test_a_home_without_hooks_has_none(tmp_path: Path) -> None:
    assert hooks_in(tmp_path / "hooks", python=sys.executable) == ()


def test_there_is_a_limit_to_hooks(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for n in range(HOOKS_MAX + 1):
        write_hook(tmp_path, f"h{n:03}", "events: [command]", python=NOTES)
    assert len(hooks_in(tmp_path / "hooks", python=sys.executable)) == HOOKS_MAX
    assert "the rest is ignored" in caplog.text
