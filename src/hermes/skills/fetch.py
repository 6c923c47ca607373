"""Where skills come from: a folder, an archive or a git repository, read as data and never run.

Everything is bounded before it is believed: bytes on disk, bytes unpacked, entries, time. What
comes out is a tree of plain files; the first thing in it that is none ends the matter.
"""

import io
import os
import re
import stat
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hermes.core.errors import Rejected
from hermes.skills.form import FILE
from hermes.skills.remote import ARCHIVE_BYTES_MAX, Remote, without_password
from hermes.skills.repository import archived
from hermes.skills.tree import Tree, checked, is_litter, read_tree, safe_path
from hermes.skills.unpack import ENTRIES_MAX, UNPACKED_BYTES_MAX, unpacked
from hermes.views.files import make_folder

RATIO_MAX = 200  # bytes out for a byte in, of one member
RATIO_FREE = 1_000_000  # so much may come out of anything
ARCHIVES = (".zip", ".skill", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
DOWNLOAD = re.compile(rf"https://[^?#]*({'|'.join(map(re.escape, ARCHIVES))})([?#].*)?", re.I)
GIT = re.compile(r"(https://|ssh://|file://|git\+(https|ssh|file)://|[\w.-]+@[\w.-]+:)")
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)


@dataclass(frozen=True, kw_only=True)
class Fetched:
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
        packed = archived(origin, environ=environ, scratch=scratch, remote=remote)
        return _chosen(_tar(io.BytesIO(packed)), skill, without_password(origin))
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
    if raw.startswith(b"PK"):
        return _zip(raw)
    return _tar(io.BytesIO(unpacked(raw)))


def _zip(raw: bytes) -> Mapping[str, bytes]:
    found: dict[str, bytes] = {}
    room = UNPACKED_BYTES_MAX
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = archive.infolist()
            _demand_few(len(members))
            for member in members:
                if member.is_dir():
                    continue
                _demand_plain_member(member)
                with archive.open(member) as file:
                    content = file.read(min(room, _most(member.compress_size)) + 1)
                room -= len(content)
                if room < 0 or len(content) > _most(member.compress_size):
                    raise Rejected(f"{member.filename[:80]!r} unpacks to far too much")
                _add(found, member.filename, content)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, OSError) as broken:
        raise Rejected(f"the archive is damaged ({broken})") from broken
    return found


def _most(packed: int) -> int:
    return max(RATIO_FREE, RATIO_MAX * packed)


def _demand_plain_member(member: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise Rejected(f"{member.filename[:80]!r} is a link or a device; only plain files may be")
    if member.flag_bits & _ENCRYPTED or member.compress_type not in _METHODS:
        raise Rejected(f"{member.filename[:80]!r} is encrypted or packed in an unusual way")


def _tar(stream: io.BytesIO) -> Mapping[str, bytes]:
    found: dict[str, bytes] = {}
    entries = 0
    try:
        with tarfile.open(fileobj=stream, mode="r:") as archive:
            for member in archive:
                entries += 1
                _demand_few(entries)
                if member.isdir() or member.type == tarfile.XGLTYPE:
                    continue
                if member.type not in _PLAIN or member.issparse():
                    raise Rejected(
                        f"{member.name[:80]!r} is a link or a device; only plain files may be"
                    )
                file = archive.extractfile(member)
                _add(found, member.name, file.read() if file is not None else b"")
    except (tarfile.TarError, EOFError, ValueError, OSError) as broken:
        raise Rejected(f"the archive is damaged ({broken})") from broken
    return found


def _demand_few(entries: int) -> None:
    if entries > ENTRIES_MAX:
        raise Rejected(f"the archive has more than {ENTRIES_MAX:,} entries")


def _add(found: dict[str, bytes], name: str, content: bytes) -> None:
    path = safe_path(name.removeprefix("./"))
    if path in found:
        raise Rejected(f"{path} is in the archive twice")
    found[path] = content


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
