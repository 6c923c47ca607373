"""Remember which instruction files of which folders the owner trusts, by digest.

The answers are in one file of the home, which no tool can reach. An answer is for the bytes that
the owner saw: after a change the file is untrusted again.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.views.files import whole_file

FILE: Final = "trusted_folders.json"
FOLDERS_MAX: Final = 500  # beyond this the oldest answer is dropped, and the owner is asked again
BYTES_MAX: Final = 4_000_000


class FolderAnswer(Struct, frozen=True, kw_only=True):
    """The owner's answer about a folder and its files. `files` maps real path to digest."""

    folder: str
    trusted: bool
    files: Mapping[str, str]
    at: float

    @property
    def id(self) -> str:
        return hashlib.sha256(self.folder.encode("utf-8", "replace")).hexdigest()[:32]


class FolderTrust(Struct, frozen=True, kw_only=True):
    """The current trust: folders from the settings, and the owner's answers."""

    folders: tuple[Path, ...] = ()
    answers: tuple[FolderAnswer, ...] = ()

    def has(self, path: Path, content: bytes, size: int) -> bool:
        """Return True if this file is trusted with these bytes."""
        digest = digest_of(content, size)
        said = any(a.trusted and a.files.get(str(path)) == digest for a in self.answers)
        return said or self.is_in_settings(path)

    def has_name(self, path: Path) -> bool:
        """Return True if the path is below a trusted folder, whatever its content."""
        opened = [Path(a.folder) for a in self.answers if a.trusted]
        return self.is_in_settings(path) or any(path.is_relative_to(each) for each in opened)

    def is_in_settings(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self.folders)

    def is_answered(self, folder: Path, files: Mapping[str, str]) -> bool:
        """Return True if the owner has answered for all these files in their current state."""
        said = [a.files.items() for a in self.answers if a.folder == str(folder)]
        return any(files.items() <= known for known in said)


NO_TRUST: Final = FolderTrust()


def digest_of(content: bytes, size: int) -> str:
    """Return the digest of the part of a file that a prompt shows, and of its full size."""
    return hashlib.sha256(b"%d\n%b" % (size, content)).hexdigest()


def answers_in(home: Path) -> tuple[FolderAnswer, ...]:
    """Return the stored answers; empty, which trusts nothing, if the file cannot be read."""
    try:
        with (home / FILE).open("rb") as file:
            raw = file.read(BYTES_MAX)
        return msgspec.json.decode(raw, type=tuple[FolderAnswer, ...])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()


def keep_answer(home: Path, answer: FolderAnswer) -> None:
    """Store an answer. It is merged with an equal answer for other files of the folder, and
    replaces a different one. Raise StoreFailed."""
    before = answers_in(home)
    same = [a.files for a in before if (a.folder, a.trusted) == (answer.folder, answer.trusted)]
    files = {path: digest for known in (*same, answer.files) for path, digest in known.items()}
    others = [each for each in before if each.folder != answer.folder]
    _write(home, [*others, replace(answer, files=files)][-FOLDERS_MAX:])


def forget_answer(home: Path, folder: str) -> None:
    """Remove the answer; the owner is asked again when the folder is opened. Raise StoreFailed."""
    _write(home, [each for each in answers_in(home) if each.folder != folder])


def _write(home: Path, answers: Sequence[FolderAnswer]) -> None:
    text = msgspec.json.format(msgspec.json.encode(answers), indent=2)
    whole_file(home / FILE, text + b"\n")
