"""The backup file: a compressed archive whose last member, the manifest, has all digests.

Reading trusts nothing: no path leads outside, only plain files are made, every digest is compared,
and a truncated file lacks its manifest and is refused.
"""

import hashlib
import io
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec
from msgspec import Struct

from hermes.app.platforms import backup_folders
from hermes.core.errors import Rejected, StoreBusy, StoreFull
from hermes.settings.home import CONFIG, DATABASE, SECRETS
from hermes.views.files import make_folder

FORMAT = 1
MANIFEST, MANIFEST_BYTES_MAX = "manifest.json", 100_000_000
MEMBERS_MAX = 500_000
SPACE_LEFT_MIN = 100_000_000
CHUNK = 1 << 20
FOLDERS = (
    *("memories", "skills", "hooks", "media", "scripts", "schedules"),
    *backup_folders(),
)
TEXTS = ("SOUL.md", "BOOT.md", "HEARTBEAT.md")
AUDIT_KEY = "audit.key"  # a secret: with it one could seal what never happened
CONTENTS = (CONFIG, SECRETS, AUDIT_KEY, *TEXTS, DATABASE, *FOLDERS)


class ArchiveEntry(Struct, frozen=True):
    size: int
    sha256: str


class ArchiveManifest(Struct, frozen=True, kw_only=True):
    """What a backup contains, and which version made it when."""

    format: int
    hermes: str
    made_at: str
    secrets: bool
    files: dict[str, ArchiveEntry]


class Packer:
    """Add files one by one and remember the digest of each."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.files: dict[str, ArchiveEntry] = {}

    def add(self, name: str, path: Path) -> None:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            try:
                self._put(name, file, found)
            except OSError as changed:
                raise StoreBusy(
                    f"{path} could not be read whole ({changed}). Try again"
                ) from changed

    def add_bytes(self, name: str, content: bytes, like: os.stat_result) -> None:
        """Add other content under the name and mode of a file."""
        sized = os.stat_result((*like[:6], len(content), *like[7:10]))
        self._put(name, io.BytesIO(content), sized)

    def seal(self, manifest: ArchiveManifest) -> None:
        """Write the manifest, which must be the last member."""
        content = msgspec.json.encode(manifest)
        head = tarfile.TarInfo(MANIFEST)
        head.size, head.mode = len(content), 0o600
        self._tar.addfile(head, io.BytesIO(content))

    def _put(self, name: str, file: IO[bytes], found: os.stat_result) -> None:
        head = tarfile.TarInfo(name)
        head.size, head.mtime = found.st_size, int(found.st_mtime)
        head.mode = 0o700 if found.st_mode & 0o100 else 0o600
        reader = _Hashed(file)
        self._tar.addfile(head, reader)
        self.files[name] = ArchiveEntry(found.st_size, reader.digest.hexdigest())


@contextmanager
def packed(target: Path) -> Iterator[Packer]:
    """Yield a new archive. It gets its name only when the block has succeeded."""
    half = target.with_name(f".{target.name}.{os.getpid()}.half")
    try:
        handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            with tarfile.open(fileobj=file, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
                yield Packer(tar)
            file.flush()
            os.fsync(file.fileno())
        half.replace(target)
    finally:
        half.unlink(missing_ok=True)


def unpack(archive: Path, into: Path) -> ArchiveManifest:
    """Write the files below a new folder and check each. Raise Rejected for a bad archive."""
    try:
        with tarfile.open(archive, "r:gz") as tar:
            found = _extracted(tar, into)
        manifest = _manifest(found.pop(MANIFEST, None), into)
    except (tarfile.TarError, zlib.error, EOFError) as broken:
        raise Rejected(f"{archive} is damaged or not a backup of Hermes ({broken})") from broken
    except OSError as refused:
        raise Rejected(f"{archive} cannot be read ({refused.strerror or refused})") from refused
    if found != manifest.files:
        name = min(name for name, _ in found.items() ^ manifest.files.items())
        raise Rejected(f"{archive} is damaged: {name} is not what its manifest says")
    return manifest


def _extracted(tar: tarfile.TarFile, into: Path) -> dict[str, ArchiveEntry]:
    room = shutil.disk_usage(into).free - SPACE_LEFT_MIN
    found: dict[str, ArchiveEntry] = {}
    for member in tar:
        if member.isdir():
            continue
        name = _safe_name(member)
        if name in found or len(found) >= MEMBERS_MAX:
            raise Rejected(f"the backup names {name} twice or holds too many files")
        room -= member.size
        if room < 0:
            raise StoreFull("there is not enough space on the disk for this backup")
        content = tar.extractfile(member)
        if content is None:
            raise Rejected(f"the backup holds {name}, which is not a regular file")
        found[name] = _write(into / name, content, executable=bool(member.mode & 0o100))
    while tar.fileobj is not None and tar.fileobj.read(CHUNK):
        pass  # to the very end, where the checksum of the whole is compared
    return found


def _safe_name(member: tarfile.TarInfo) -> str:
    """Return the member's path: relative, and below a name that a backup may contain. Raise
    Rejected."""
    path = PurePosixPath(member.name)
    plain = member.isreg() and member.name.isprintable() and str(path) == member.name
    inside = not path.is_absolute() and ".." not in path.parts and bool(path.parts)
    known = inside and path.parts[0] in (*CONTENTS, MANIFEST)
    if not plain or not known:
        raise Rejected(f"the backup holds {member.name!r}, which does not belong there")
    return member.name


def _write(target: Path, content: IO[bytes], *, executable: bool) -> ArchiveEntry:
    make_folder(target.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    handle = os.open(target, flags, 0o700 if executable else 0o600)
    reader = _Hashed(content)
    with os.fdopen(handle, "wb") as file:
        while piece := reader.read(CHUNK):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    return ArchiveEntry(size, reader.digest.hexdigest())


def _manifest(entry: ArchiveEntry | None, into: Path) -> ArchiveManifest:
    if entry is None or entry.size > MANIFEST_BYTES_MAX:
        raise Rejected("the backup has no manifest: it was cut off, or Hermes did not make it")
    file = into / MANIFEST
    try:
        manifest = msgspec.json.decode(file.read_bytes(), type=ArchiveManifest)
    except msgspec.MsgspecError as broken:
        raise Rejected(f"the backup's manifest cannot be read ({broken})") from broken
    if manifest.format != FORMAT:
        made = f"a newer Hermes ({manifest.hermes})"
        raise Rejected(f"the backup was made by {made}. Update Hermes, then restore it")
    file.unlink()
    return manifest


class _Hashed:
    """A file whose digest is computed while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self.digest.update(piece)
        return piece
