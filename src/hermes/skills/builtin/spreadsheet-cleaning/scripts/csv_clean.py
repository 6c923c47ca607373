#!/usr/bin/env python3
"""Write a clean copy of a CSV file: UTF-8, commas, equal rows, no stray white space."""

import argparse
import csv
import re
import sys
from pathlib import Path
from typing import TextIO

ENCODINGS = ("utf-8-sig", "cp1252", "latin-1")
BLANK = {"-", "n/a", "na", "null", "none", "#n/a"}


def decoded(path: Path) -> str:
    raw = path.read_bytes()
    for encoding in ENCODINGS:
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1")


def cell(value: str) -> str:
    value = " ".join(value.replace("\u00a0", " ").split())
    return "" if value.lower() in BLANK else value


def headings(names: list[str], *, snake: bool) -> list[str]:
    """Each once, none empty."""
    made: list[str] = []
    for number, raw in enumerate(names, 1):
        name = cell(raw) or f"column {number}"
        if snake:
            name = re.sub(r"\W+", "_", name.lower()).strip("_") or f"column_{number}"
        made.append(name if name not in made else f"{name}_{number}")
    return made


def main(words: list[str], stdout: TextIO) -> int:
    parser = argparse.ArgumentParser(description="Write a clean copy of a CSV file.")
    parser.add_argument("file", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--drop-duplicates", action="store_true", help="keep the first of equals")
    parser.add_argument("--snake-case", action="store_true", help="simple names for columns")
    given = parser.parse_args(words)
    if given.out.exists():
        stdout.write(f"{given.out} is there already; choose another name\n")
        return 1
    text = decoded(given.file)
    first = text.split("\n", 1)[0]
    separator = max(",;\t|", key=first.count)
    rows = [row for row in csv.reader(text.splitlines(keepends=True), delimiter=separator) if row]
    if not rows:
        stdout.write("the file is empty\n")
        return 1
    head = headings(rows[0], snake=given.snake_case)
    clean, seen, longer, dropped = [head], set(), 0, 0
    for row in rows[1:]:
        cells = [cell(value) for value in row]
        longer += any(cells[len(head) :])
        cells = (cells + [""] * len(head))[: len(head)]
        if not any(cells) or (given.drop_duplicates and tuple(cells) in seen):
            dropped += 1
            continue
        seen.add(tuple(cells))
        clean.append(cells)
    with given.out.open("x", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(clean)
    stdout.write(f"{len(rows) - 1} rows in, {len(clean) - 1} out, {dropped} left out\n")
    if longer:
        stdout.write(f"{longer} rows were longer than the header; what was too much is gone\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdout))
