"""Tool calls as a person sees them: one line each, and all that is known of one. Pure."""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from hermes.core.ids import CallId
from hermes.core.messages import Call, Outcome
from hermes.views.amounts import cells_of
from hermes.views.call_line import told
from hermes.views.honest import honest, straight

TAIL_CHARS_MAX = 8_000
TAIL_LINES, OPEN_LINES = 1, 12
FULL_LINES, FULL_WIDTH = 200, 1_000
CALLS_KEPT = 100
MAIN = ("command", "path", "pattern", "query", "url", "name")
SIGNS = {
    Outcome.OK: "✓",
    Outcome.FAILED: "✗",
    Outcome.DENIED: "⊘",
    Outcome.STOPPED: "■",
    Outcome.UNKNOWN: "?",
}
_EXIT = re.compile(r"\bexit status (-?\d+)\b[^\n]*\]\s*\Z")


class CallView(Struct, frozen=True, kw_only=True):
    """A call, as far as it has come. `output` is the end of what it wrote."""

    id: CallId
    tool: str
    about: str = ""  # its arguments in a few words
    output: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    outcome: Outcome | None = None

    @property
    def running(self) -> bool:
        return self.started_at is not None and self.outcome is None

    @property
    def exit(self) -> str:
        """The exit status that its result tells, if it was a command."""
        found = _EXIT.search(self.output[-400:]) if self.outcome is not None else None
        return found[1] if found is not None else ""

    def took(self, now: float) -> str:
        if self.started_at is None:
            return ""
        return lasting((now if self.ended_at is None else self.ended_at) - self.started_at)


def seen(call: Call) -> CallView:
    return CallView(id=call.id, tool=honest(call.tool), about=honest(_about(call)))


def _about(call: Call) -> str:
    """What it is done to; the rest of its arguments is for whoever unfolds the journal."""
    try:
        given = msgspec.json.decode(call.arguments)
    except msgspec.DecodeError:
        return call.arguments
    fields = given if isinstance(given, dict) else {}
    main = (fields[name] for name in MAIN if isinstance(fields.get(name), str))
    return next(main, told(call.arguments))


def tail(before: str, more: str) -> str:
    return (before + straight(more))[-TAIL_CHARS_MAX:]


def label(view: CallView, width: int) -> str:
    return cut_right(" ".join(f"{view.tool} {view.about}".split()), max(width, 8))


def ending(view: CallView, now: float) -> str:
    """How long, and what came of it where that is worth a word."""
    words = [view.took(now)]
    if view.exit not in ("", "0"):
        words.append(f"exit {view.exit}")
    elif view.outcome not in (None, Outcome.OK):
        words.append(view.outcome.value)
    return "  ".join(word for word in words if word)


def last_lines(view: CallView, count: int, width: int) -> Sequence[str]:
    lines = [line.rstrip() for line in view.output.splitlines() if line.strip()]
    return [cut_right(line.expandtabs(4), width) for line in lines[-count:]]


def cut_right(line: str, width: int) -> str:
    """In places of the screen, of which some letters take two."""
    if cells_of(line) <= width:
        return line
    kept, room = "", width - 1
    for char in line:
        room -= cells_of(char)
        if room < 0:
            break
        kept += char
    return f"{kept}…"


def unfolded(view: CallView, now: float, lines: int, width: int) -> Sequence[str]:
    """The command in full, the end of its output, the time and the exit status."""
    status = f"exit {view.exit}" if view.exit else (view.outcome.value if view.outcome else "runs")
    about = [cut_right(each, width - 2) for each in (view.about or view.tool).splitlines()]
    shown = last_lines(view, lines, width - 2)
    left = sum(1 for line in view.output.splitlines() if line.strip()) - len(shown)
    above = [f"  … {left} lines above"] if left > 0 else []
    head = f"{view.tool}: {status}, {view.took(now) or 'not begun'}"
    return [head, *(f"$ {each}" for each in about[:6]), *above, *(f"  {each}" for each in shown)]


def in_full(finished: Sequence[CallView], argument: str, now: float) -> str:
    """The last call, or the Nth last, for a scrollback."""
    digits = argument.isascii() and argument.isdecimal() and len(argument) < 6
    number = int(argument) if digits else 1
    if not 1 <= number <= len(finished):
        return "There is no such call."
    return "\n".join(unfolded(finished[-number], now, FULL_LINES, FULL_WIDTH))


def ago(seconds: float) -> str:
    """In the largest unit that fits, and no more than that."""
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
