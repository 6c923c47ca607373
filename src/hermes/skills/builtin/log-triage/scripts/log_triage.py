#!/usr/bin/env python3
"""Group the lines of a log by their shape: how many, how bad, first and last time."""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TextIO

SHAPES_MAX = 50_000
SHOWN_CHARS = 160
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d")
LEVELS = (
    ("FATAL", re.compile(r"\b(fatal|panic|critical|emerg|alert)\b", re.I)),
    ("ERROR", re.compile(r"\b(error|exception|traceback|failed|failure)\b|\bERR\b", re.I)),
    ("WARN", re.compile(r"\bwarn(ing)?\b", re.I)),
)
CHANGING = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b", re.I), "<uuid>"),
    (re.compile(r"\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b"), "<ip>"),
    (re.compile(r"\b(0x)?[0-9a-f]{12,}\b", re.I), "<hex>"),
    (re.compile(r"\d+"), "<n>"),
)


class Group:
    """Lines of one shape."""

    def __init__(self, level: str, example: str, line: int) -> None:
        self.level = level
        self.example = example
        self.line = line
        self.count = 0
        self.first = self.last = ""


def shape_of(text: str) -> str:
    for pattern, sign in CHANGING:
        text = pattern.sub(sign, text)
    return text


def level_of(text: str) -> str:
    return next((name for name, pattern in LEVELS if pattern.search(text)), "INFO")


def grouped(lines: Iterable[str], since: str) -> dict[str, Group]:
    groups: dict[str, Group] = {}
    time = ""
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip()
        found = TIME.search(line)
        time = found.group().replace(" ", "T", 1) if found else time
        if not line or (since and time < since and time[:1].isdigit()):
            continue
        text = TIME.sub("", line).strip(" []:-")
        shape = shape_of(text)[:SHOWN_CHARS]
        if shape not in groups:
            if len(groups) >= SHAPES_MAX:
                continue
            groups[shape] = Group(level_of(text), text[:SHOWN_CHARS], number)
        group = groups[shape]
        group.count += 1
        group.first, group.last = group.first or time, time
    return groups


def told(groups: Iterable[Group], top: int) -> Iterator[str]:
    order = [name for name, _pattern in LEVELS]
    ranked = sorted(
        groups,
        key=lambda g: (order.index(g.level) if g.level in order else len(order), -g.count),
    )
    yield f"{'COUNT':>7}  LEVEL  FIRST                LAST                 LINE: EXAMPLE"
    for group in ranked[:top]:
        yield (
            f"{group.count:>7}  {group.level:<5}  {group.first:<19}  {group.last:<19}  "
            f"{group.line}: {group.example}"
        )
    if len(ranked) > top:
        yield f"{len(ranked) - top} more shapes; --top {len(ranked)} shows them"


def main(words: list[str], stdin: TextIO, stdout: TextIO) -> int:
    parser = argparse.ArgumentParser(description="Group the lines of a log by their shape.")
    parser.add_argument("file", nargs="?", default="-", help="a log; - reads standard input")
    parser.add_argument("--top", type=int, default=20, help="how many shapes to show")
    parser.add_argument("--since", default="", help="from this time on: 2026-01-31T12:00")
    given = parser.parse_args(words)
    if given.file == "-":
        groups = grouped(stdin, given.since)
    else:
        with open(given.file, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            groups = grouped(file, given.since)
    total = sum(group.count for group in groups.values())
    lines, shapes = "line" + "s" * (total != 1), "shape" + "s" * (len(groups) != 1)
    stdout.write(f"{total:,} {lines} of {len(groups):,} {shapes}\n")
    stdout.writelines(f"{line}\n" for line in told(groups.values(), given.top))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin, sys.stdout))
