"""Read HOOK.yaml: which events a hook subscribes to, and its command. Invalid ones are skipped."""

import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import yaml
from msgspec import Meta, Struct

from hermes.core.errors import Misconfigured

EVENTS = (
    "gateway:start",
    "session:start",
    "session:end",
    "session:reset",
    "turn:start",
    "turn:step",
    "turn:end",
    "command",
)
FILE = "HOOK.yaml"
FILE_BYTES_MAX = 16_000
HOOKS_MAX = 100
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

log = logging.getLogger("hermes.hooks")


class Hook(Struct, frozen=True, kw_only=True):
    name: str
    folder: str
    command: tuple[str, ...]
    events: frozenset[str]
    timeout_s: float
    boxed: bool = True


class _File(Struct, forbid_unknown_fields=True):
    events: list[str]
    name: str = ""
    description: str = ""
    command: list[str] = []
    timeout_s: Annotated[float, Meta(gt=0, le=60)] = 10.0
    enabled: bool = True
    sandbox: Literal["auto", "none"] = "auto"


def hooks_in(folder: Path, *, python: str) -> Sequence[Hook]:
    """Return every valid hook, by folder name. Log a warning for each of the others."""
    if not folder.is_dir():
        return ()
    hooks: dict[str, Hook] = {}
    places = sorted(path for path in folder.iterdir() if (path / FILE).is_file())
    for place in places[:HOOKS_MAX]:
        try:
            hook = read_hook(place, python=python)
        except Misconfigured as wrong:
            log.warning("a hook is ignored: %s", wrong)
            continue
        if hook is not None and hook.name in hooks:
            words = "a hook is ignored: %s: another one is named %s. Write another name:"
            log.warning(words, place / FILE, hook.name)
        elif hook is not None:
            hooks[hook.name] = hook
    if len(places) > HOOKS_MAX:
        log.warning("%s has more than %d hooks; the rest is ignored", folder, HOOKS_MAX)
    return tuple(hooks.values())


def read_hook(place: Path, *, python: str) -> Hook | None:
    """Return the hook, or None if it is switched off. Raise Misconfigured."""
    path = place / FILE
    file = _parsed(_text(path), str(path))
    if not file.enabled:
        return None
    name = file.name or place.name
    if not NAME.fullmatch(name):
        fix = "Use up to 64 letters, digits, - _ and . in name:"
        raise Misconfigured(str(path), f"“{name[:64]}” is not a valid name for a hook", fix)
    return Hook(
        name=name,
        folder=str(place.absolute()),
        events=_events(file.events, str(path)),
        command=_command(file.command, place.absolute(), python),
        timeout_s=file.timeout_s,
        boxed=file.sandbox == "auto",
    )


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
        if len(raw) > FILE_BYTES_MAX:
            raise Misconfigured(str(path), f"has more than {FILE_BYTES_MAX:,} bytes", "Shorten it")
        return raw.decode("utf-8")
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
        raise Misconfigured(str(path), problem, "Check its permissions") from error
    except UnicodeDecodeError as error:
        raise Misconfigured(str(path), "is not UTF-8", "Save it as UTF-8") from error


def _parsed(text: str, path: str) -> _File:
    try:
        tree: object = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as broken:
        problem = f"is not valid YAML ({' '.join(str(broken).split())[:200]})"
        raise Misconfigured(path, problem, "Correct that place") from broken
    try:
        return msgspec.convert(tree, _File, strict=True)
    except msgspec.ValidationError as wrong:
        keys = "events, name, description, command, timeout_s (up to 60), enabled, sandbox"
        fix = f"Its keys are {keys}"
        raise Misconfigured(path, str(wrong), fix) from wrong


def _events(patterns: Sequence[str], path: str) -> frozenset[str]:
    found: set[str] = set()
    for pattern in patterns:
        group = pattern.removesuffix("*") if pattern.endswith(":*") or pattern == "*" else None
        matched = {e for e in EVENTS if e == pattern or (group is not None and e.startswith(group))}
        if not matched:
            fix = f"The events are {', '.join(EVENTS)}, and turn:* for a group"
            raise Misconfigured(path, f"there is no event “{pattern[:64]}”", fix)
        found |= matched
    if not found:
        raise Misconfigured(path, "has no events", "Write one: events: [turn:end]")
    return frozenset(found)


def _command(written: Sequence[str], place: Path, python: str) -> tuple[str, ...]:
    """Return the command as written, with a leading ./ resolved to the hook's folder; by default
    the handler program in that folder."""
    if written:
        first = written[0]
        program = str(place / first.removeprefix("./")) if first.startswith("./") else first
        return (program, *written[1:])
    script, program_file = place / "handler.py", place / "handler"
    if script.is_file():
        return (python, str(script))
    if not program_file.is_file():
        fix = "Put a handler.py or an executable handler next to it, or write command:"
        raise Misconfigured(str(place / FILE), "has nothing to run", fix)
    if not os.access(program_file, os.X_OK):
        fix = f"Run: chmod +x {program_file}"
        raise Misconfigured(str(program_file), "is not executable", fix)
    return (str(program_file),)
