"""Patches as text, for several files: the `*** Begin Patch` form and unified diffs. Pure."""

import re
from typing import Literal

from msgspec import Struct

from hermes.core.errors import ToolFailed
from hermes.tools.files.matching import TextEdit

FILES_MAX = 50
HEADER = re.compile(r"\*\*\* (Update|Add|Delete) File: (.+)")
RANGE = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
NO_FILE = "/dev/null"


class FileChange(Struct, frozen=True, kw_only=True):
    """What happens to one file. `content` is that of a file to be added, or that a file to be
    deleted must have if it matters."""

    path: str
    kind: Literal["update", "add", "delete"]
    edits: tuple[TextEdit, ...] = ()
    content: str | None = None


def parse_patch(text: str) -> tuple[FileChange, ...]:
    """Raises ToolFailed with the line that is not understood."""
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    unified = any(line.startswith("--- ") for line in lines) and not any(map(HEADER.match, lines))
    changes = _unified(lines) if unified else _begin_patch(lines)
    if not changes:
        raise ToolFailed(
            "patch: no file in it. Write `*** Begin Patch`, then `*** Update File: path` with "
            "lines that begin with a space, - or +."
        )
    if len(changes) > FILES_MAX:
        raise ToolFailed(f"patch: at most {FILES_MAX} files at once.")
    paths = [change.path for change in changes]
    if len(set(paths)) < len(paths):
        raise ToolFailed("patch: a file is named twice; put its hunks together.")
    return changes


def _begin_patch(lines: list[str]) -> tuple[FileChange, ...]:
    changes: list[FileChange] = []
    body: list[str] = []
    header: re.Match[str] | None = None
    for line in [*lines, "*** End Patch"]:
        if not line.startswith("*** ") or line == "*** End of File":
            if header is None and line.strip():
                raise ToolFailed(f"patch: “{line[:80]}” is before the first file.")
            body += [line] if line != "*** End of File" else []
            continue
        if header is not None:
            changes.append(_change(header, body))
        header, body = HEADER.fullmatch(line.rstrip()), []
        if header is None and line.rstrip() not in ("*** Begin Patch", "*** End Patch"):
            raise ToolFailed(f"patch: “{line[:80]}” is not understood.")
    return tuple(changes)


def _change(header: re.Match[str], body: list[str]) -> FileChange:
    path = header[2].strip()
    match header[1]:
        case "Add":
            wrong = [line for line in body if line and not line.startswith("+")]
            if wrong:
                raise ToolFailed(f"patch: {path}: lines of a new file begin with +.")
            return FileChange(
                path=path, kind="add", content="".join(f"{line[1:]}\n" for line in body)
            )
        case "Delete":
            return FileChange(path=path, kind="delete")
        case _:
            return FileChange(path=path, kind="update", edits=_hunks(path, body))


def _unified(lines: list[str]) -> tuple[FileChange, ...]:
    changes: list[FileChange] = []
    starts = [n for n, line in enumerate(lines[:-1]) if _starts_file(lines, n)]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        old, new = (_diff_path(lines[start]), _diff_path(lines[start + 1]))
        body = [line for line in lines[start + 2 : stop] if not line.startswith("diff --git ")]
        body = [line for line in body if not line.startswith(("index ", "new file", "deleted fi"))]
        if old == NO_FILE:
            added = "".join(f"{line[1:]}\n" for line in body if line.startswith("+"))
            changes.append(FileChange(path=new, kind="add", content=added))
        elif new == NO_FILE:
            changes.append(FileChange(path=old, kind="delete"))
        else:
            changes.append(FileChange(path=new, kind="update", edits=_hunks(new, body)))
    return tuple(changes)


def _starts_file(lines: list[str], number: int) -> bool:
    return lines[number].startswith("--- ") and lines[number + 1].startswith("+++ ")


def _diff_path(line: str) -> str:
    path = line[4:].split("\t")[0].strip()
    return path if path == NO_FILE else re.sub(r"^[ab]/", "", path)


def _hunks(path: str, body: list[str]) -> tuple[TextEdit, ...]:
    """Each `@@` begins a hunk; what stands behind it is an anchor, or a range of lines."""
    edits: list[TextEdit] = []
    at, old, new = "", list[str](), list[str]()
    for line in [*body, "@@"]:
        if line.startswith("@@"):
            if old or new:
                edits.append(_edit(path, at, old, new))
            at, old, new = line, [], []
        elif line.startswith("\\"):  # "\ No newline at end of file"
            continue
        elif line[:1] in ("", " "):
            old.append(line[1:])
            new.append(line[1:])
        elif line[0] == "-":
            old.append(line[1:])
        elif line[0] == "+":
            new.append(line[1:])
        else:
            raise ToolFailed(f"patch: {path}: “{line[:80]}” begins with neither space, - nor +.")
    if not edits:
        raise ToolFailed(f"patch: {path}: there is no hunk.")
    return tuple(edits)


def _edit(path: str, at: str, old: list[str], new: list[str]) -> TextEdit:
    while len(old) > 1 and len(new) > 1 and not old[-1] and not new[-1]:
        old, new = old[:-1], new[:-1]  # a blank line that only separates hunks
    if old == new:
        raise ToolFailed(f"patch: {path}: a hunk changes nothing.")
    span = RANGE.match(at)
    removed = "\n".join(old)
    added = "\n".join(new)
    if old and not new:
        removed += "\n"  # whole lines go, not only their text
    return TextEdit(
        old=removed,
        new=added,
        anchor="" if span else at[2:].strip().removesuffix("@@").strip(),
        line=int(span[1]) if span else 0,
    )
