"""Fetch a skill from a folder, an archive or a git repository; nothing in it is executed.

Bytes on disk, bytes unpacked, number of entries and time are all limited. The result is a tree of
regular files; the fetch fails at the first entry that is anything else.
"""

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct

from hermes.core.errors import Rejected
from hermes.lazy import LazyModule
from hermes.skills.form import FILE
from hermes.skills.remote import ARCHIVE_BYTES_MAX, Remote, without_password
from hermes.skills.repository import archived
from hermes.skills.tree import Tree, checked, is_litter, read_tree
from hermes.views.files import make_folder, reason

if TYPE_CHECKING:
    from hermes.skills import archives
else:  # imported on first use: most gateways never install a skill
    archives = LazyModule("hermes.skills.archives")

ARCHIVES = (".zip", ".skill", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
DOWNLOAD = re.compile(rf"https://[^?#]*({'|'.join(map(re.escape, ARCHIVES))})([?#].*)?", re.I)
GIT = re.compile(r"(https://|ssh://|file://|git\+(https|ssh|file)://|[\w.-]+@[\w.-]+:)")


class Fetched(Struct, frozen=True, kw_only=True):
    tree: Tree
    left_out: tuple[str, ...]
    origin: str  # to fetch it again; without passwords


def fetched(
    origin: str, *, skill: str, environ: Mapping[str, str], scratch: Path, remote: Remote
) -> Fetched:
    """Return the skill's tree. `skill` chooses one of several; `scratch` is a new, empty folder.
    Raise Rejected."""
    if DOWNLOAD.fullmatch(origin):
        return _chosen(archives.files_of(remote.archive(origin)), skill, without_password(origin))
    if GIT.match(origin):
        packed = archived(origin, environ=environ, scratch=scratch, remote=remote)
        return _chosen(archives.files_of_tar(packed), skill, without_password(origin))
    path = Path(origin).expanduser()
    if path.is_dir():
        return _from_folder(path, skill)
    if not path.is_file():
        raise Rejected(
            f"{origin} is not a folder, an archive ({', '.join(ARCHIVES)}; also as https://…) or a "
            "git address (https://…, ssh://…, git@HOST:PATH)"
        )
    return _chosen(_from_archive(path), skill, str(path.absolute()))


def _from_folder(path: Path, skill: str) -> Fetched:
    """Read one skill of a folder. Choose it first: a folder of skills may exceed the limits of
    one."""
    place = path
    if not (path / FILE).is_file():
        found = sorted(p.parent for p in (*path.glob(f"*/{FILE}"), *path.glob(f"*/*/{FILE}")))
        place = path / _one({str(p.relative_to(path)): p.name for p in found}, skill)
    litter = [
        str(p.relative_to(place)) for p in place.rglob("*") if p.name in (".git", ".DS_Store")
    ]
    return Fetched(
        tree=read_tree(place.absolute()), left_out=tuple(litter[:20]), origin=str(place.absolute())
    )


def _from_archive(path: Path) -> Mapping[str, bytes]:
    size = path.stat().st_size
    if size > ARCHIVE_BYTES_MAX:
        raise Rejected(f"{path.name} has more than {ARCHIVE_BYTES_MAX:,} bytes")
    return archives.files_of(path.read_bytes())


def _chosen(files: Mapping[str, bytes], skill: str, origin: str) -> Fetched:
    """Return the files of the one skill that was asked for, out of an archive that may hold
    several."""
    places = {
        str(PurePosixPath(path).parent): PurePosixPath(path).parent.name
        for path in files
        if PurePosixPath(path).name == FILE and not is_litter(path)
    }
    place = "." if "." in places else _one(places, skill)
    before = "" if place == "." else f"{place}/"
    inside = {path.removeprefix(before): c for path, c in files.items() if path.startswith(before)}
    tree = {path: content for path, content in inside.items() if not is_litter(path)}
    return Fetched(
        tree=checked(tree), left_out=tuple(sorted(inside.keys() - tree.keys())[:20]), origin=origin
    )


def _one(places: Mapping[str, str], skill: str) -> str:
    """Return the folder of the requested skill. Raise Rejected with the choices if it is not
    clear."""
    if not places:
        raise Rejected(f"it has no {FILE}")
    meant = [place for place, name in places.items() if skill in ("", name, place)]
    if len(meant) == 1:
        return meant[0]
    known = ", ".join(sorted(places.values())[:30])
    if not meant:
        raise Rejected(f"it has no skill {skill}; it has {known}")
    raise Rejected(f"it has several skills; choose one with --skill: {known}")


def scratch_in(folder: Path, ticket: str) -> Path:
    """Create and return a private scratch folder. Raise Rejected if that fails."""
    place = folder / ticket
    try:
        make_folder(folder)
        place.mkdir(mode=0o700)
    except OSError as refused:
        raise Rejected(f"{place} cannot be created ({reason(refused)})") from refused
    return place
