"""Where in a text does an edit belong? Exactly there; or nearly there, if only one place fits.

Pure. What is found nearly differs from the file only in white space at line ends, in one
indentation throughout, or in typographic characters; the new text is given the file's indentation.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate

from msgspec import Struct

from hermes.core.errors import ToolFailed
from hermes.text.similar import likely

LINES_NAMED_MAX = 8
CLOSEST_LINES_MAX = 20
CLOSEST_LINE_CHARS = 200
COMPARED_LINES_MAX = 5_000
PLACES_MAX = 100  # that many nearly equal places are too many in any case

# One character each, so that places in the mended text are places in the text.
TYPOGRAPHIC = str.maketrans(
    "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f"
    "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00a0\u202f\u2009",
    "''''\"\"\"\"-------   ",
)


class TextEdit(Struct, frozen=True, kw_only=True):
    """Replace `old` by `new`. `anchor` and `line` choose among equal places: the first behind a
    line that contains the anchor, or the one that begins at that line (counted from 1)."""

    old: str
    new: str
    every: bool = False
    anchor: str = ""
    line: int = 0


class PatchedText(Struct, frozen=True):
    """The new text, and which lines of it are new."""

    text: str
    notes: tuple[str, ...]


class _Place(Struct, frozen=True):
    start: int
    stop: int
    new: str
    how: str = ""


def patched(text: str, edits: Sequence[TextEdit]) -> PatchedText:
    """All edits, one after the other. Raises ToolFailed when one of them has no certain place."""
    notes: list[str] = []
    for number, edit in enumerate(edits, 1):
        name = f"Edit {number}: " if len(edits) > 1 else ""
        try:
            places = _places(text, edit)
        except ToolFailed as failed:
            raise ToolFailed(f"{name}{failed}") from failed
        for place in reversed(places):
            text = text[: place.start] + place.new + text[place.stop :]
        notes.append(_note(text, places))
    return PatchedText(text, tuple(notes))


def _places(text: str, edit: TextEdit) -> list[_Place]:
    if edit.old == edit.new:
        raise ToolFailed("the old and the new text are the same; nothing to do.")
    if not edit.old:
        return [_insertion(text, edit)]
    for find in (_exact, _typographic, _by_lines(str.rstrip), _by_lines(str.strip)):
        places = find(text, edit)
        if edit.every and places and not places[0].how:
            return places
        places = _preferred(text, edit, places)
        if len(places) == 1:
            return places
        if places:
            lines = ", ".join(str(_line_of(text, p.start)) for p in places[:LINES_NAMED_MAX])
            raise ToolFailed(
                f"the old text is there {len(places)} times (lines {lines}). "
                "Give more lines around it, or replace_all."
            )
    raise ToolFailed(_not_found(text, edit))


def _exact(text: str, edit: TextEdit) -> list[_Place]:
    return _occurrences(text, edit.old, edit.new, "")


def _typographic(text: str, edit: TextEdit) -> list[_Place]:
    how = "typographic characters"
    return _occurrences(text.translate(TYPOGRAPHIC), edit.old.translate(TYPOGRAPHIC), edit.new, how)


def _occurrences(text: str, old: str, new: str, how: str) -> list[_Place]:
    places, start = list[_Place](), text.find(old)
    while start >= 0:
        stop = start + len(old)
        places.append(_Place(start, stop, new, how))
        start = text.find(old, stop)
    return places


def _by_lines(strip: Callable[[str], str]) -> Callable[[str, TextEdit], list[_Place]]:
    """Whole lines that are equal once they are stripped."""

    def find(text: str, edit: TextEdit) -> list[_Place]:
        ends = edit.old.endswith("\n")
        old = edit.old.removesuffix("\n").split("\n")
        lines = text.split("\n")
        wanted, keys = [strip(line) for line in old], [strip(line) for line in lines]
        if not any(wanted):
            return []
        offsets = list(accumulate((len(line) + 1 for line in lines), initial=0))
        places = []
        for at in range(len(lines) - len(old) + 1):
            if keys[at] == wanted[0] and keys[at : at + len(old)] == wanted:
                new = _indented(edit.new, old, lines[at : at + len(old)])
                stop = offsets[at + len(old)] - 1
                stop += ends and stop < len(text)
                if new is not None:
                    places.append(_Place(offsets[at], stop, new, "white space"))
            if len(places) >= PLACES_MAX:
                break
        return places

    return find


def _indented(new: str, old: Sequence[str], there: Sequence[str]) -> str | None:
    """The new text with the indentation of the file; None when the two differ in more ways."""
    pairs = [(_indent(a), _indent(b)) for a, b in zip(old, there, strict=True) if a.strip()]
    ours, theirs = pairs[0]
    for mend in (_shifted(ours, theirs), _tabbed(4), _tabbed(2), _tabbed(8)):
        if all(mend(a) == b for a, b in pairs):
            lines = new.split("\n")
            return "\n".join(mend(_indent(x)) + x.lstrip(" \t") if x.strip() else x for x in lines)
    return None


def _shifted(ours: str, theirs: str) -> Callable[[str], str]:
    def mend(indent: str) -> str:
        return theirs + indent[len(ours) :] if indent.startswith(ours) else indent

    return mend


def _tabbed(width: int) -> Callable[[str], str]:
    def mend(indent: str) -> str:
        spaces = len(indent.expandtabs(width))
        return "\t" * (spaces // width) + " " * (spaces % width)

    return mend


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _preferred(text: str, edit: TextEdit, places: list[_Place]) -> list[_Place]:
    if len(places) > 1 and edit.line:
        places = [p for p in places if _line_of(text, p.start) == edit.line] or places
    if len(places) > 1 and edit.anchor:
        anchor = _anchored(text, edit)
        places = [p for p in places if p.start >= anchor][:1] or places
    return places


def _insertion(text: str, edit: TextEdit) -> _Place:
    """New lines without old ones: behind the anchor's line, or behind a line given by number."""
    if edit.anchor:
        at = text.find("\n", _anchored(text, edit)) + 1 or len(text)
    elif edit.line:
        lines = text.split("\n")[: edit.line]
        at = min(sum(len(line) + 1 for line in lines), len(text))
    elif not text:
        at = 0
    else:
        raise ToolFailed("the old text is empty. Give the lines that the new ones stand next to.")
    glue = "\n" if at and text[at - 1] != "\n" else ""
    tail = "" if edit.new.endswith("\n") or at == len(text) else "\n"
    return _Place(at, at, f"{glue}{edit.new}{tail}")


def _anchored(text: str, edit: TextEdit) -> int:
    at = text.find(edit.anchor)
    if at < 0:
        raise ToolFailed(f"the line “{edit.anchor[:CLOSEST_LINE_CHARS]}” of the hunk is not there.")
    return at


def _note(text: str, places: Sequence[_Place]) -> str:
    first = places[0]
    lines = f"line {_line_of(text, first.start)}"
    many = f", {len(places)} places" if len(places) > 1 else ""
    how = f", found despite different {first.how}" if first.how else ""
    return lines + many + how


def _not_found(text: str, edit: TextEdit) -> str:
    if edit.new.strip() and text.count(edit.new) == 1:
        line = _line_of(text, text.find(edit.new))
        return f"the old text is not there, but the new one is, at line {line}: already applied?"
    region = _closest(text.split("\n")[:COMPARED_LINES_MAX], edit.old.split("\n"))
    if not region:
        return "the old text is not in the file. Read the file again and copy it exactly."
    return f"the old text is not in the file. The closest place is:\n{region}"


def _closest(lines: Sequence[str], old: Sequence[str]) -> str:
    """The window that shares most lines with the old text, or a line like its first one."""
    wanted = {line.strip() for line in old if line.strip()}
    size = min(len(old), CLOSEST_LINES_MAX)
    shared = [line.strip() in wanted for line in lines]
    best, at, running = 0, -1, 0
    for number, hit in enumerate(shared):
        running += hit - (shared[number - size] if number >= size else 0)
        if running > best:
            best, at = running, max(0, number - size + 1)
    if at < 0:
        first = next((line.strip() for line in old if line.strip()), "")
        stripped = [line.strip()[:CLOSEST_LINE_CHARS] for line in lines]
        near = likely(first[:CLOSEST_LINE_CHARS], stripped)
        if not near:
            return ""
        at = stripped.index(near[0])
    window = lines[at : at + size]
    return "\n".join(f"{at + n}|{line[:CLOSEST_LINE_CHARS]}" for n, line in enumerate(window, 1))


def _line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
