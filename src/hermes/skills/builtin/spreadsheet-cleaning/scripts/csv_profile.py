#!/usr/bin/env python3
"""Tell what is in a CSV file: its form, and for each column what kinds of values it has."""

import argparse
import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

ENCODINGS = ("utf-8-sig", "cp1252", "latin-1")
DISTINCT_MAX = 10_000
SHOWN = 3
BLANK = {"", "-", "n/a", "na", "null", "none", "#n/a"}
KINDS = (
    ("date", re.compile(r"\d{4}-\d\d-\d\d([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")),
    ("text-number", re.compile(r"0\d+|\+\d[\d ]+")),
    ("number", re.compile(r"-?[\d.,' ]*\d%?")),
)


class Column:
    """What was seen in one column."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.blanks = 0
        self.kinds: Counter[str] = Counter()
        self.values: Counter[str] = Counter()
        self.odd: dict[str, tuple[int, str]] = {}  # the first of each kind
        self.padded = 0

    def take(self, value: str, line: int) -> None:
        self.padded += value != value.strip()
        value = value.strip()
        if value.lower() in BLANK:
            self.blanks += 1
            return
        kind = next((name for name, form in KINDS if form.fullmatch(value)), "text")
        self.kinds[kind] += 1
        self.odd.setdefault(kind, (line, value))
        if len(self.values) < DISTINCT_MAX or value in self.values:
            self.values[value] += 1

    def told(self) -> Iterator[str]:
        kind, count = self.kinds.most_common(1)[0] if self.kinds else ("empty", 0)
        often = ", ".join(f"{v[:30]} ({n})" for v, n in self.values.most_common(SHOWN))
        distinct = len(self.values)
        yield f"{self.name}: {kind}, {count} values, {self.blanks} blank, {distinct} distinct"
        yield f"    often: {often}"
        for other in [k for k in self.kinds if k != kind]:
            line, value = self.odd[other]
            yield f"    odd: {self.kinds[other]} as {other}, first in line {line}: {value[:40]}"
        if self.padded:
            yield f"    {self.padded} with white space around them"


def decoded(path: Path) -> tuple[str, str]:
    raw = path.read_bytes()
    for encoding in ENCODINGS:
        try:
            return raw.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1"), "latin-1"


def separator_of(text: str) -> str:
    head = text[:20_000]
    first = head.split("\n", 1)[0]
    return max(",;\t|", key=lambda sign: (first.count(sign), head.count(sign)))


def profiled(text: str, separator: str) -> Iterator[str]:
    rows = csv.reader(text.splitlines(keepends=True), delimiter=separator)
    header = next(rows, [])
    columns = [Column(name.strip() or f"column {n}") for n, name in enumerate(header, 1)]
    seen: Counter[tuple[str, ...]] = Counter()
    wrong: list[int] = []
    count = 0
    for row in rows:
        count += 1
        seen[tuple(row)] += 1
        if len(row) != len(columns):
            wrong.append(rows.line_num)
        for column, value in zip(columns, row, strict=False):
            column.take(value, rows.line_num)
    yield f"{count} rows, {len(columns)} columns, {count - len(seen)} exact duplicates"
    if wrong:
        yield f"{len(wrong)} rows of another length, in lines {', '.join(map(str, wrong[:10]))}"
    for column in columns:
        yield from column.told()


def main(words: list[str], stdout: TextIO) -> int:
    parser = argparse.ArgumentParser(description="Tell what is in a CSV file.")
    parser.add_argument("file", type=Path)
    given = parser.parse_args(words)
    text, encoding = decoded(given.file)
    separator = separator_of(text)
    stdout.write(f"{encoding}, separated by {separator!r}\n")
    stdout.writelines(f"{line}\n" for line in profiled(text, separator))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdout))
