"""From a model's words to a path, by the letters only. Opening it is the business of opening.py."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from msgspec.structs import replace

from hermes.core.errors import ToolFailed
from hermes.core.grants import is_beneath
from hermes.core.session import SCRATCH
from hermes.ports.scratch import PLACE, is_scratch, on_disk
from hermes.ports.workspace import Files, WorkspacePaths
from hermes.tools.shell.paths import absolute

WORKDIR = "workdir"  # the fact under which a session remembers where it is
CAME_FROM = "came_from"  # and this one, where the owner's chat is: its commands may write there


def here(places: WorkspacePaths, facts: Mapping[str, str]) -> WorkspacePaths:
    """The same, with the workspace of this session: that of the owner's chat where it has one; and
    with the scratch place of this conversation."""
    came_from = facts.get(CAME_FROM, "")
    found = with_scratch(places, facts)
    return replace(found, root=absolute(came_from, "/")) if came_from else found


def with_scratch(places: WorkspacePaths, facts: Mapping[str, str]) -> WorkspacePaths:
    """The same, with the scratch place of this conversation."""
    name = facts.get(SCRATCH, "")
    scratch = f"{places.scratch}/{name}/{PLACE}" if places.scratch and name else ""
    return places if scratch == places.scratch else replace(places, scratch=scratch)


def is_folder(files: Files, path: str) -> bool:
    status = files.status(path, follow=True)
    return status is not None and status.kind == "folder"


def workdir_of(files: Files, places: WorkspacePaths, facts: Mapping[str, str]) -> tuple[str, str]:
    """The session's directory, and a note when the one it remembers is gone. Blocking."""
    remembered = facts.get(WORKDIR, "")
    if not remembered or remembered == places.root:
        return places.root, ""
    if is_folder(files, placed(places, remembered)):
        return remembered, ""
    return places.root, f"the working directory {remembered} is gone; this ran in {places.root}"


def resolved(files: Files, places: WorkspacePaths, facts: Mapping[str, str], path: str) -> str:
    """From a directory that is there, for what runs there. Links are not followed here."""
    base, _note = workdir_of(files, places, facts)
    return as_named(places, {WORKDIR: base}, path)


def lexical(places: WorkspacePaths, facts: Mapping[str, str], path: str) -> str:
    """Where it is on the disk: absolute and normalised, from the session's directory, `~` expanded.
    Pure: what a policy judges is what is opened then."""
    return placed(places, as_named(places, facts, path))


def placed(places: WorkspacePaths, full: str) -> str:
    """Where it is on the disk, with the conversation's own `/tmp`. What has a name of its own
    within the machine's `/tmp`, such as the workspace, keeps it. `places` are of this session."""
    named = (places.root, places.home, *places.guarded)
    if not places.scratch or any(is_beneath(full, each) for each in named if is_scratch(each)):
        return full
    return on_disk(full, places.scratch)


def as_named(places: WorkspacePaths, facts: Mapping[str, str], path: str) -> str:
    """The same by the name that a command knows."""
    if "\x00" in path or not path.strip():
        raise ToolFailed("path: it is empty or contains a NUL character.")
    if path == "~" or path.startswith("~/"):
        path = places.home + path[1:]
    return absolute(path, absolute(facts.get(WORKDIR, "") or places.root, places.root))


def path_of(places: WorkspacePaths, facts: Mapping[str, str], path: str) -> PurePosixPath:
    """The same as a path, which cannot touch any disk."""
    return PurePosixPath(lexical(places, facts, path))
