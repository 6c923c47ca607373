"""Where skills come from: a folder, an archive or a git repository, read as data and never run.

Everything is bounded before it is believed: bytes on disk, bytes unpacked, entries, time. What
comes out is a tree of plain files; the first thing in it that is none ends the matter.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct

from hermes.core.errors import Rejected
from hermes.skills.form import FILE
from hermes.skills.remote import ARCHIVE_BYTES_MAX, Remote, without_password
from hermes.skills.repository import archived
from hermes.skills.tree import Tree, checked, is_litter, read_tree
from hermes.views.files import make_folder

ARCHIVES = (".zip", ".skill", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
DOWNLOAD = re.compile(rf"https://[^?#]*({'|'.join(map(re.escape, ARCHIVES))})([?#].*)?", re.I)
GIT = re.compile(r"(https://|ssh://|file://|git\+(https|ssh|file)://|[\w.-]+@[\w.-]+:)")


class Fetched(Struct, frozen=True, kw_only=True):
    tree: Tree
    left_out: tuple[str, ...]
    origin: str  # how it is fetched again; without passwords


def fetched(
    origin: str, *, skill: str, environ: Mapping[str, str], scratch: Path, remote: Remote
) -> Fetched:
    """Raises Rejected. `skill` chooses one where there are several; `scratch` is a new folder."""
    if DOWNLOAD.fullmatch(origin):
        return _chosen(_unpacked(remote.archive(origin)), skill, without_password(origin))
    if GIT.match(origin):
        from hermes.skills.archives import files_of_tar

        packed = archived(origin, environ=environ, scratch=scratch, remote=remote)
        return _chosen(files_of_tar(packed), skill, without_password(origin))
    path = Path(origin).expanduser()
    if path.is_dir():
        return _from_folder(path, skill)
    if not path.is_file():
        raise Rejected(
            f"{origin} is no folder, no archive ({', '.join(ARCHIVES)}; also as https://…) and no "
            "git address (https://…, ssh://…, git@HOST:PATH)"
        )
    return _chosen(_from_archive(path), skill, str(path.absolute()))


def _from_folder(path: Path, skill: str) -> Fetched:
    """A folder of skills holds more than a skill may, so the one is chosen before it is read."""
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
    return _unpacked(path.read_bytes())


def _unpacked(raw: bytes) -> Mapping[str, bytes]:
    from hermes.skills.archives import files_of  # a gateway that installs nothing needs no unpacker

    return files_of(raw)


def _chosen(files: Mapping[str, bytes], skill: str, origin: str) -> Fetched:
    """The skill's own folder out of an archive that may hold more."""
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
    """The place that is meant. Raises Rejected and says which there are."""
    if not places:
        raise Rejected(f"there is no {FILE} in it")
    meant = [place for place, name in places.items() if skill in ("", name, place)]
    if len(meant) == 1:
        return meant[0]
    known = ", ".join(sorted(places.values())[:30])
    if not meant:
        raise Rejected(f"there is no skill {skill} in it; there are {known}")
    raise Rejected(f"there are several skills in it; choose one with --skill: {known}")


def scratch_in(folder: Path, ticket: str) -> Path:
    """A new folder of our own; raises Rejected when it cannot be made."""
    place = folder / ticket
    try:
        make_folder(folder)
        place.mkdir(mode=0o700)
    except OSError as refused:
        raise Rejected(f"{place} cannot be made ({os.strerror(refused.errno or 0)})") from refused
    return place
