#!/usr/bin/env python3
"""Look at a folder of backups: how old, how large, and can the newest of each series be read."""

import argparse
import bz2
import gzip
import lzma
import re
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import TextIO

BLOCK = 1_000_000
FILES_MAX = 10_000
SHRUNK = 0.5  # of the usual size
PACKED = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
UNREADABLE = (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, ValueError)


def series_of(name: str) -> str:
    """Names that differ in dates and numbers only are one series."""
    return re.sub(r"\d[\dT_:.-]*", "N", name)


def problem_with(path: Path) -> str:
    """Read it to the end; "" when that worked."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                broken = archive.testzip()
            return f"damaged at {broken}" if broken else ""
        if re.search(r"\.(tar(\.\w+)?|tgz|tbz2|txz)$", path.name):
            with tarfile.open(path) as archive:
                count = sum(1 for _member in archive)
            return "" if count else "holds nothing"
        if path.suffix in PACKED:
            with PACKED[path.suffix](path) as stream:
                while stream.read(BLOCK):
                    pass
    except UNREADABLE as broken:
        return f"cannot be read: {broken}"
    return ""


def checked(files: list[Path], now: float, age_hours: float) -> Iterator[str]:
    newest = max(files, key=lambda path: path.stat().st_mtime)
    size, hours = newest.stat().st_size, (now - newest.stat().st_mtime) / 3600
    sizes = [path.stat().st_size for path in files if path != newest]
    problems = []
    if hours > age_hours:
        problems.append(f"is {hours:.0f} hours old")
    if not size:
        problems.append("is empty")
    elif sizes and size < SHRUNK * median(sizes):
        problems.append(f"is much smaller than usual ({median(sizes):,.0f} bytes)")
    unreadable = problem_with(newest) if size else ""
    problems += [unreadable] if unreadable else []
    state = "BAD " if problems else "OK  "
    told = "; ".join(problems) or f"{hours:.0f} hours old, read to its end"
    yield f"{state}  {newest.name}  {size:,} bytes, {len(files)} in its series: {told}"


def main(words: list[str], stdout: TextIO, now: float) -> int:
    parser = argparse.ArgumentParser(description="Check the newest backup of each series.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--max-age-hours", type=float, default=26.0)
    given = parser.parse_args(words)
    if not given.folder.is_dir():
        stdout.write(f"BAD   {given.folder} is not a folder\n")
        return 1
    found = (path for path in sorted(given.folder.rglob("*")) if path.is_file())
    series: dict[str, list[Path]] = {}
    for _number, path in zip(range(FILES_MAX), found, strict=False):
        series.setdefault(f"{path.parent}/{series_of(path.name)}", []).append(path)
    lines = [line for files in series.values() for line in checked(files, now, given.max_age_hours)]
    if not lines:
        lines = [f"BAD   {given.folder} holds no files"]
    stdout.writelines(f"{line}\n" for line in lines)
    return 1 if any(line.startswith("BAD") for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdout, time.time()))
