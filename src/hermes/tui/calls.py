"""Tool calls for display: one line each, and all details of one. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from hermes.core.ids import CallId
from hermes.core.messages import Call, Outcome
from hermes.text.plurals import counted
from hermes.text.visible_text import visible_lines, visible_text
from hermes.views.amounts import cells_of
from hermes.views.call_line import told, why_failed
from hermes.views.diff import asked_diff, body_of, counts_of, files_of

TAIL_CHARS_MAX = 8_000
TAIL_LINES, OPEN_LINES = 1, 12
FULL_LINES, FULL_WIDTH = 200, 1_000
ABOUT_LINES, DIFF_LINES = 6, 8
CALLS_KEPT = 100
ENDING_CHARS = 1_000  # in which a result says how it ended
MAIN = ("command", "path", "pattern", "query", "url", "name", "goal")
SIGNS = {
    Outcome.OK: "✓",
    Outcome.FAILED: "✗",
    Outcome.DENIED: "⊘",
    Outcome.STOPPED: "■",
    Outcome.UNKNOWN: "?",
}
_EXIT = re.compile(r"\bexit status (-?\d+)\b[^\n]*\]\s*\Z")


class CallView(Struct, frozen=True, kw_only=True):
    """A call in its current state. `output` is the end of what it printed."""

    id: CallId
    tool: str
    about: str = ""  # its arguments in a few words
    is_command: bool = False
    output: str = ""
    diff: str = ""  # what it changes in files
    started_at: float | None = None
    ended_at: float | None = None
    outcome: Outcome | None = None
    whole: bool = False  # each line of its output is of now: none is left out

    @property
    def running(self) -> bool:
        return self.started_at is not None and self.outcome is None

    @property
    def exit(self) -> str:
        """Return the exit status in the result, if the call was a command."""
        found = _EXIT.search(self.output[-ENDING_CHARS:]) if self.outcome is not None else None
        return found[1] if found is not None else ""

    def took(self, now: float) -> str:
        if self.started_at is None:
            return ""
        return lasting((now if self.ended_at is None else self.ended_at) - self.started_at)


def call_view(call: Call) -> CallView:
    fields = _fields(call)
    return CallView(
        id=call.id,
        tool=visible_text(call.tool),
        about=visible_text(_about(call, fields)),
        is_command=isinstance(fields.get("command"), str),
        diff=visible_lines(asked_diff(fields)) if call.tool == "patch" else "",
    )


def _fields(call: Call) -> Mapping[str, object]:
    try:
        given = msgspec.json.decode(call.arguments)
    except msgspec.DecodeError:
        return {}
    return given if isinstance(given, dict) else {}


def _about(call: Call, fields: Mapping[str, object]) -> str:
    """Return what the call acts on: its main argument, or all arguments in short."""
    patch = fields.get("patch")
    if call.tool == "patch" and isinstance(patch, str) and (names := files_of(patch)):
        return names
    main = (fields.get(name) for name in MAIN)
    return next((each for each in main if isinstance(each, str)), told(call.arguments))


def tail(before: str, more: str) -> str:
    return (before + visible_lines(more))[-TAIL_CHARS_MAX:]


def label(view: CallView, width: int) -> str:
    return cut_right(" ".join(f"{view.tool} {view.about}".split()), max(width, 8))


def ending(view: CallView, now: float) -> str:
    """Return how long the call took, and its outcome unless it succeeded."""
    words = [changed(view), view.took(now)]
    if view.exit not in ("", "0"):
        words.append(f"exit {view.exit}")
    elif view.outcome not in (None, Outcome.OK):
        words.append(view.outcome.value)
    return "  ".join(word for word in words if word)


def why_it_failed(view: CallView, width: int) -> str:
    """Return the last words of a failed command, for the person who sees only its line."""
    failed = view.outcome is Outcome.FAILED
    return cut_right(why_failed(view.output).expandtabs(4), width) if failed else ""


def last_lines(view: CallView, count: int, width: int) -> Sequence[str]:
    lines = [line.rstrip() for line in view.output.splitlines() if line.strip()]
    return [cut_right(line.expandtabs(4), width) for line in lines[-count:]]


def cut_right(line: str, width: int) -> str:
    """Cut a line to a width in terminal cells; some characters take two."""
    if cells_of(line) <= width:
        return line
    kept, room = "", width - 1
    for char in line:
        room -= cells_of(char)
        if room < 0:
            break
        kept += char
    return f"{kept}…"


class CallDetailRow(NamedTuple):
    """A row of an unfolded call; its kind is its style."""

    text: str
    kind: Literal["head", "about", "quiet", "added", "removed"] = "quiet"


def unfolded(view: CallView, now: float, lines: int, width: int) -> Sequence[CallDetailRow]:
    """Return all details of a call: its command or target, the diff or the end of its output, the
    time and the exit status."""
    status = f"exit {view.exit}" if view.exit else (view.outcome.value if view.outcome else "runs")
    head = CallDetailRow(f"{view.tool}: {status}, {view.took(now) or 'not started'}", "head")
    sign = "$ " if view.is_command else "  "
    about = [cut_right(each, width - 2) for each in view.about.splitlines()]
    rows = [head, *(CallDetailRow(f"{sign}{each}", "about") for each in about[:ABOUT_LINES])]
    if view.diff:
        return [*rows, *diff_rows(view.diff, lines, width), *_last_rows(view, 2, width)]
    return [*rows, *_last_rows(view, lines, width)]


def diff_rows(diff: str, lines: int, width: int) -> Sequence[CallDetailRow]:
    """Return the first lines of a diff, and how many more there are."""
    body = body_of(diff)
    shown = [
        CallDetailRow(f"  {cut_right(line.expandtabs(4), width - 2)}", _kind(line)) for line in body
    ]
    more = len(shown) - lines
    return [*shown[:lines], CallDetailRow(f"  … {more} more lines")] if more > 1 else shown


def _kind(line: str) -> Literal["quiet", "added", "removed"]:
    if line.startswith(("+++ ", "--- ")):
        return "quiet"
    return "added" if line.startswith("+") else "removed" if line.startswith("-") else "quiet"


def _last_rows(view: CallView, lines: int, width: int) -> Sequence[CallDetailRow]:
    shown = last_lines(view, lines, width - 2)
    left = sum(1 for line in view.output.splitlines() if line.strip()) - len(shown)
    above = [CallDetailRow(f"  … {counted(left, 'line')} above")] if left > 0 else []
    return [*above, *(CallDetailRow(f"  {each}") for each in shown)]


def changed(view: CallView) -> str:
    """Return how many lines the call changed, in a word or two."""
    counts = counts_of(view.diff) if view.outcome is Outcome.OK else (0, 0)
    return " ".join(f"{sign}{n}" for sign, n in zip("+-", counts, strict=True) if n)


def in_full(finished: Sequence[CallView], argument: str, now: float) -> str:
    """Return the details of the last call, or the Nth last, for the scrollback."""
    digits = argument.isascii() and argument.isdecimal() and len(argument) < 6
    number = int(argument) if digits else 1
    if not 1 <= number <= len(finished):
        return "There is no such call."
    return "\n".join(row.text for row in unfolded(finished[-number], now, FULL_LINES, FULL_WIDTH))


def ago(seconds: float) -> str:
    """Format a duration in the largest unit that fits."""
    whole = int(max(seconds, 0))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"


def lasting(seconds: float) -> str:
    seconds = max(seconds, 0.0)
    if seconds < 10:
        return f"{seconds:.1f}s"
    if seconds < 60:
        return f"{seconds:.0f}s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s"
