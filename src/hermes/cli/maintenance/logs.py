"""hermes logs: print the log of this home for people, and follow it."""

import json
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.log_file import FILES
from hermes.cli.options import json_option, limit_option

if TYPE_CHECKING:
    from argparse import ArgumentParser


LOG = Path("logs") / "hermes.log"
LOOK_S = 0.3
NONE_YET = "There is no log yet: {}"
Row = Mapping[str, object]
LEVELS = ("debug", "info", "warning", "error")


class LogsOptions(JsonOptions):
    follow: bool
    limit: int
    level: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("-f", "--follow", action="store_true", help="keep printing new lines")
    limit_option(parser, "lines")
    parser.add_argument(
        "--level",
        choices=LEVELS,
        default="debug",
        help="only this level and above (default: debug)",
    )
    json_option(parser)


def run(options: LogsOptions, context: CliContext) -> int:
    file = context.home / LOG
    wanted = LEVELS[LEVELS.index(options.level) :]
    tail = Tail(file)
    try:
        lines = chain(_older_lines(file), tail.lines(rest=not options.follow))
        rows = deque((row for row in _rows(lines) if _is(row, wanted)), maxlen=options.limit)
        if options.json and not options.follow:
            context.console.document(list(rows))
            return DONE
        if not rows and not options.follow:
            context.console.tell("Nothing to show" if file.exists() else NONE_YET.format(file))
        show = _json_line if options.json else _line
        while True:
            for row in rows:
                context.console.say(show(row))
            if not options.follow:
                return DONE
            time.sleep(LOOK_S)
            rows = deque(row for row in _rows(tail.lines()) if _is(row, wanted))
    finally:
        tail.close()


class Tail:
    """Follow a file that grows and is rotated, without missing a line."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stream = _open(file)

    def lines(self, *, rest: bool = False) -> Iterator[str]:
        """Yield new lines. A rotated file is first read to its end."""
        yield from _new_lines(self._stream, rest=rest)
        if self._stream is None or _is_replaced(self._stream, self._file):
            self.close()
            self._stream = _open(self._file)
            yield from _new_lines(self._stream, rest=rest)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()


def _older_lines(file: Path) -> Iterator[str]:
    """Yield the lines of rotated files, the oldest first."""
    for n in range(FILES, 0, -1):
        older = _open(file.with_name(f"{file.name}.{n}"))
        if older is not None:
            with older:
                yield from _new_lines(older, rest=True)


def _open(file: Path) -> TextIO | None:
    try:
        return file.open(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _new_lines(stream: TextIO | None, *, rest: bool = False) -> Iterator[str]:
    """Yield complete lines. An incomplete one is read again later, unless the file was rotated."""
    while stream is not None:
        at = stream.tell()
        line = stream.readline()
        if not line.endswith("\n"):
            stream.seek(at)
            yield from (line,) if rest and line else ()
            return
        yield line


def _is_replaced(stream: TextIO, file: Path) -> bool:
    try:
        return os.fstat(stream.fileno()).st_ino != file.stat().st_ino
    except FileNotFoundError:
        return True


def _rows(lines: Iterable[str]) -> Iterator[Row]:
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:  # a line that was cut off by a crash
            row = {"text": line.rstrip("\n")}
        yield row if isinstance(row, dict) else {"text": line.rstrip("\n")}


def _is(row: Row, wanted: Sequence[str]) -> bool:
    """Return True if the line has the wanted level. A line of unknown level is shown, too."""
    level = str(row.get("level", ""))
    return level in wanted or level not in LEVELS


def _line(row: Row) -> str:
    head = " ".join(
        part for part in (_moment(row.get("at")), f"{row.get('level', ''):<7}", _from(row)) if part
    )
    more = [str(row[name]) for name in ("trace", "stack") if row.get(name)]
    return "\n".join((f"{head}{row.get('text', '')}", *more))


def _from(row: Row) -> str:
    return f"{row['from']}: " if row.get("from") else ""


def _moment(at: object) -> str:
    """Format a time as local time."""
    try:
        return f"{datetime.fromisoformat(str(at)).astimezone():%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return ""


def _json_line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False)


COMMAND = CliCommand(
    options=LogsOptions,
    run=run,
    arguments=_arguments,
    more="With -f, --json prints one JSON object per line. Ctrl+C ends it.",
)
