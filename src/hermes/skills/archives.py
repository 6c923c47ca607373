"""Read the files of an archive in memory, within limits; accept regular files only."""

import io
import stat
import tarfile
import zipfile
from collections.abc import Mapping

from hermes.core.errors import Rejected
from hermes.skills.tree import safe_path
from hermes.skills.unpack import ENTRIES_MAX, UNPACKED_BYTES_MAX, unpacked

RATIO_MAX = 200  # decompression ratio of one member
RATIO_FREE = 1_000_000  # output that is always allowed, whatever the ratio
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)


def files_of(raw: bytes) -> Mapping[str, bytes]:
    """Return the files by path. Raise Rejected if the archive is damaged, too large, or holds links
    or devices."""
    if raw.startswith(b"PK"):
        return _zip(raw)
    return files_of_tar(unpacked(raw))


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


def files_of_tar(raw: bytes) -> Mapping[str, bytes]:
    found: dict[str, bytes] = {}
    entries = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as archive:
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
