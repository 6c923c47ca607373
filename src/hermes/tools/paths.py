"""From a model's words to a path, by the letters only. Opening it is the business of opening.py."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import ToolFailed
from hermes.tools.shell_paths import absolute

WORKDIR = "workdir"  # the fact under which a session remembers where it is
CAME_FROM = "came_from"  # and this one, where the owner's chat is: its commands may write there


class Places(Struct, frozen=True, kw_only=True):
    """Where a session begins, and what `~` means. All absolute."""

    root: str
    home: str
    guarded: tuple[str, ...] = ()  # our own files, which no tool may name


def places_of(root: str, home: str, guarded: tuple[str, ...] = ()) -> Places:
    """What is guarded is so by its real path too."""
    both = dict.fromkeys(path for each in guarded for path in (each, os.path.realpath(each)))
    return Places(root=absolute(root, "/"), home=absolute(home, "/"), guarded=tuple(both))


def here(places: Places, facts: Mapping[str, str]) -> Places:
    """The same, with the workspace of this session: that of the owner's chat where it has one."""
    came_from = facts.get(CAME_FROM, "")
    return replace(places, root=absolute(came_from, "/")) if came_from else places


def workdir_of(places: Places, facts: Mapping[str, str]) -> tuple[str, str]:
    """The session's directory, and a note when the one it remembers is gone."""
    remembered = facts.get(WORKDIR, "")
    if not remembered or remembered == places.root:
        return places.root, ""
    if Path(remembered).is_dir():
        return remembered, ""
    return places.root, f"the working directory {remembered} is gone; this ran in {places.root}"


def resolved(places: Places, facts: Mapping[str, str], path: str) -> Path:
    """From a directory that is there, for what runs there. Links are not followed here."""
    base, _note = workdir_of(places, facts)
    return Path(lexical(places, {WORKDIR: base}, path))


def lexical(places: Places, facts: Mapping[str, str], path: str) -> str:
    """Absolute and normalised, from the session's directory, `~` expanded. Pure: what a policy
    judges is what is opened then."""
    if "\x00" in path or not path.strip():
        raise ToolFailed("path: it is empty or contains a NUL character.")
    if path == "~" or path.startswith("~/"):
        path = places.home + path[1:]
    return absolute(path, absolute(facts.get(WORKDIR, "") or places.root, places.root))
