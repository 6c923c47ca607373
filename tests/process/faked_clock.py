"""Processes whose clock runs elsewhere in time: libfaketime, from the Debian package `faketime`.

All processes of one home share one offset from the real clock, in a file. Writing another one is a
step of the clock, which they see within a second. What a process waits for (the monotonic clock)
stays real.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

# The package puts it into a folder of the machine's architecture.
LIBRARIES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib*/faketime/libfaketimeMT.so.1")


@dataclass
class FakedClock:
    """A clock that can be set, for processes that get `environ`."""

    file: Path
    library: Path

    @property
    def environ(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1",
        }

    def set(self, instant: str | float) -> None:
        """Let it be this instant now, for every process."""
        at = instant if isinstance(instant, float) else datetime.fromisoformat(instant).timestamp()
        new = self.file.with_suffix(".new")
        new.write_text(f"{at - time.time():+.3f}\n", encoding="ascii")
        new.replace(self.file)

    def now(self) -> float:
        return time.time() + float(self.file.read_text(encoding="ascii"))


def faked_clock(folder: Path) -> FakedClock:
    """Return a clock in this folder, not set yet. Skip the test where the library is missing."""
    found = next(_libraries(), None)
    if found is None:
        pytest.skip("faketime is not installed")
    return FakedClock(folder / "clock", found)


def _libraries() -> Iterator[Path]:
    for pattern in LIBRARIES:
        yield from Path("/").glob(pattern.lstrip("/"))
