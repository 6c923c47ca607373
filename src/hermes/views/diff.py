"""Show what a call changed in files, as a unified diff. Pure.

The text begins with the counts, `+3 -1`; then each file has `--- old`, `+++ new` and its hunks. The
text is bounded; the counts are always complete.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from msgspec import Struct

from hermes.text.similar import changes
from hermes.text.visible_text import visible_text

LINES_MAX, LINE_CHARS_MAX = 300, 500
COMPARED_MAX = 1_000_000  # pairs of lines; larger diffs show all old, then all new lines
CONTEXT = 3
NO_FILE = "/dev/null"
NOT_TEXT = "(it is not text, and cannot be shown)"
_RANGE = re.compile(r"@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@")
_COUNTS = re.compile(r"\+(\d+) -(\d+)$")
_FILES = re.compile(r"^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b/)?)(.+)$", re.MULTILINE)


class FileDiff(Struct, frozen=True, kw_only=True):
    """The diff of one file. `lines` are those of the hunks, headers included."""

    path: str
    lines: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    note: str = ""  # shown instead of lines


def file_diff(path: str, before: bytes | None, after: bytes | None) -> FileDiff:
    """Compare two contents of a file. None means that the file does not exist."""
    texts = [_text(each) for each in (before, after)]
    old, new = texts
    if old is None or new is None:
        return FileDiff(path=path, note=NOT_TEXT)
    names = (NO_FILE if before is None else path, NO_FILE if after is None else path)
    lines = [line[:LINE_CHARS_MAX] for line in _hunks(_split(old), _split(new))]
    return FileDiff(
        path=path,
        lines=(f"--- {names[0]}", f"+++ {names[1]}", *lines) if lines else (),
        added=sum(line.startswith("+") for line in lines),
        removed=sum(line.startswith("-") for line in lines),
    )


def diff_text(files: Sequence[FileDiff]) -> str:
    """Render the diff; "" if nothing visible changed."""
    lines = [line for each in files for line in (each.lines or _noted(each))]
    if not lines:
        return ""
    counts = f"+{sum(f.added for f in files)} -{sum(f.removed for f in files)}"
    more = len(lines) - LINES_MAX
    kept = [*lines[:LINES_MAX], f"… {more:,} more lines"] if more > 0 else lines
    return "\n".join((counts, *kept))


def counts_of(diff: str) -> tuple[int, int]:
    """Return how many lines were added and removed."""
    found = _COUNTS.match(diff.partition("\n")[0])
    return (int(found[1]), int(found[2])) if found is not None else (0, 0)


def body_of(diff: str) -> Sequence[str]:
    """Return the lines after the counts, without file names if there is one file only."""
    lines = diff.split("\n")[1:] if _COUNTS.match(diff.partition("\n")[0]) else diff.split("\n")
    single = sum(line.startswith("+++ ") for line in lines) == 1
    return lines[2:] if single and lines[0].startswith("--- ") else lines


def on_card(files: Sequence[FileDiff], head: int, tail: int) -> str:
    """Render the diff for an approval card. Invisible characters are spelled out, omitted lines are
    counted, and the card quotes each line, so that none can imitate the card itself."""
    parts: list[str] = []
    for each in files:
        lines = [visible_text(line) for line in each.lines[2:]]
        parts += [f"{visible_text(each.path)}: {_summary(each)}", *_both_ends(lines, head, tail)]
    return "\n".join(parts)


def asked_diff(fields: Mapping[str, object]) -> str:
    """Return the diff that a call of `patch` asks for, from its arguments, before it runs."""
    patch, old, new = (fields.get(name) for name in ("patch", "old_string", "new_string"))
    if isinstance(patch, str) and patch:
        return "\n".join(line for line in patch.split("\n") if line[:9] not in _WRAPPING)
    if not isinstance(old, str) or not isinstance(new, str):
        return ""
    minus, plus = _split(old), _split(new)
    lines = [*(f"-{line}" for line in minus), *(f"+{line}" for line in plus)]
    return "\n".join((f"+{len(plus)} -{len(minus)}", *lines))


def files_of(patch: str) -> str:
    """Return the names of the files in a patch."""
    names = dict.fromkeys(name.strip() for name in _FILES.findall(patch))
    return ", ".join(name for name in names if name != NO_FILE)


_WRAPPING = ("*** Begin", "*** End P")


def _noted(each: FileDiff) -> tuple[str, ...]:
    return (f"{each.path}: {each.note}",) if each.note else ()


def _summary(each: FileDiff) -> str:
    if each.note:
        return each.note
    if not each.lines:
        return "it has this content already"
    new, gone = (each.lines[n].endswith(f" {NO_FILE}") for n in (0, 1))
    kind = "a new file, " if new else "it is deleted, " if gone else ""
    words = [f"{each.added:,} lines added"] if each.added or new else []
    words += [f"{each.removed:,} removed"] if each.removed else []
    return f"{kind}{', '.join(words)}".replace("1 lines", "1 line") if words else kind.rstrip(", ")


def _both_ends(lines: Sequence[str], head: int, tail: int) -> Sequence[str]:
    """Return all lines, or the first and last ones within `head` and `tail` characters."""
    if sum(len(line) + 1 for line in lines) <= head + tail:
        return lines
    first = list(_within(lines, head))
    last = list(_within(lines[len(first) :][::-1], tail))[::-1]
    left = len(lines) - len(first) - len(last)
    return [*first, f"[… {left:,} lines are not shown …]", *last]


def _within(lines: Sequence[str], room: int) -> Iterator[str]:
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return
        yield line


def _text(content: bytes | None) -> str | None:
    if content is None:
        return ""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text.replace("\r\n", "\n")


def _split(text: str) -> Sequence[str]:
    return text.removesuffix("\n").split("\n") if text else ()


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Yield the hunks. The common start and end are skipped first, which keeps the diff cheap."""
    if old == new:
        return
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    start = max(0, same - CONTEXT)
    rests = zip(reversed(old[same:]), reversed(new[same:]), strict=False)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], rests))
    behind = max(0, alike - CONTEXT)
    left, right = old[start : len(old) - behind], new[start : len(new) - behind]
    if len(left) * len(right) > COMPARED_MAX:
        yield f"@@ -{start + 1},{len(left)} +{start + 1},{len(right)} @@"
        yield from (f"-{line}" for line in left)
        yield from (f"+{line}" for line in right)
        return
    for n, line in enumerate(changes(left, right, ("", ""))):
        if n >= 2:
            yield _moved(line, start)


def _moved(line: str, by: int) -> str:
    """Return a hunk header shifted to the line numbers of the whole file."""
    found = _RANGE.match(line) if line.startswith("@@") else None
    if found is None:
        return line
    return f"@@ -{int(found[1]) + by}{found[2]} +{int(found[3]) + by}{found[4]} @@"
