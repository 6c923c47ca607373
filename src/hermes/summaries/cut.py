"""Decide which rows a model still reads, which are summarised, and what is quoted verbatim.

Pure. What is dropped from a view is only ever what went into its summary (C41), and a summary is
made of transcript rows alone (C42).
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.budget import tokens_of, tokens_of_line
from hermes.core.events import Span, View
from hermes.core.ids import CallId
from hermes.core.messages import Call, Line, Outcome
from hermes.core.session import Session
from hermes.core.transcript import APPROVED, RELAYED, bared

WORTH_IT = 0.9  # compress only if it shrinks to less than this share
SHOWN_CHARS = 2_000  # characters of one row in the summary request
SAID_CHARS = 1_200  # characters of one message that is quoted verbatim
KEPT_SHARE = 0.15  # share of the room for verbatim quotes

SUMMED_UP = (
    "[The conversation so far, summed up by Hermes. Nothing is lost: session_search finds the "
    "rest of it.]"
)
SAID = "## What the person said, word for word, oldest first"
DECIDED = "## What the person approved or refused"
OPEN = "## The request that is being worked on, word for word"
_HEADINGS = (SAID, DECIDED, OPEN)


class Cut(Struct, frozen=True, kw_only=True):
    """The result of a cut: `head` goes into the summary; the model then reads `view`."""

    view: View
    head: tuple[Line, ...] = ()
    before: int  # tokens of the old view
    tokens: int  # tokens of the new view, without a new summary


def cut(session: Session, lines: Sequence[Line], *, room: int, keep: int) -> Cut | None:
    """Shrink old tool results first, oldest first. If that does not reach `room`, cut everything
    before the latest `keep` tokens for a summary. Return None if that would gain too little."""
    view = session.view
    costs = [tokens_of_line(_read(line, n < view.bare)) for n, line in enumerate(lines)]
    before = sum(costs) + tokens_of(view.summary)
    bare, left = view.bare, before
    for n in range(view.bare, _begun(lines)):
        if left <= room:
            break
        left -= costs[n] - tokens_of_line(bared(lines[n]))
        bare = n + 1
    if left <= room and left < WORTH_IT * before:
        return Cut(view=replace(view, bare=bare), before=before, tokens=left)
    at = _boundary(lines, costs, keep)
    if at == 0:
        return None
    tail = _fitting(lines[at:], costs[at:], keep)
    spans = tuple(_from(session, at))
    tokens = sum(tokens_of_line(_read(line, n < tail)) for n, line in enumerate(lines[at:]))
    kept = View(spans=spans, bare=tail, labels=view.labels)
    return Cut(view=kept, head=tuple(lines[:at]), before=before, tokens=tokens)


def pieces(head: Sequence[Line]) -> Iterator[str]:
    """Yield the rows for the summarising model, each with its speaker; cut long ones in the
    middle."""
    calls = _calls(head)
    turn, answered = "", {line.turn for line in head if line.role == "assistant" and not line.calls}
    for line in head:
        if line.turn != turn:
            turn = line.turn
            state = "answered" if turn in answered else "not finished"
            yield f"--- another request ({state})"
        if line.role == "tool" and line.call in calls:
            call = calls[line.call]
            how = f" ({line.outcome.value})" if line.outcome is not None else ""
            yield f"RESULT of {call.tool} {_short(call.arguments, 200)}{how}: {_short(line.text)}"
        elif line.role != "tool" and line.text.strip():
            yield f"{'PERSON' if line.role == 'user' else 'AGENT'}: {_short(line.text)}"


def batches(texts: Iterable[str], tokens_max: int) -> list[str]:
    """Pack the texts into as few batches as possible. Only a single long text may exceed the
    limit."""
    found: list[str] = []
    left = 0
    for text in texts:
        cost = tokens_of(text) + 1
        if not found or cost > left:
            found.append(text)
            left = tokens_max - cost
        else:
            found[-1] += "\n" + text
            left -= cost
    return found


def summary(told: str, session: Session, head: Sequence[Line], *, room: int) -> str:
    """Return the model's notes, followed by the quotes that must stay verbatim."""
    before = _sections(session.view.summary)
    said = [*before.get(SAID, []), *_said(head)]
    decided = [*before.get(DECIDED, []), *_decided(head)]
    parts = [SUMMED_UP, told.strip()]
    limit = round(KEPT_SHARE * room)
    for heading, texts in ((SAID, said), (DECIDED, decided)):
        if kept := _latest(texts, limit):
            parts.append("\n".join([heading, *kept]))
    if request := _open_request(session, head) or "\n".join(before.get(OPEN, [])):
        parts.append(f"{OPEN}\n{request}")
    return "\n\n".join(parts)


def _read(line: Line, is_bare: bool) -> Line:
    return bared(line) if is_bare else line


def _begun(lines: Sequence[Line]) -> int:
    """Return where the latest request begins: its tool results are still needed."""
    said = [n for n, line in enumerate(lines) if line.role == "user"]
    return said[-1] if said else 0


def _boundary(lines: Sequence[Line], costs: Sequence[int], keep: int) -> int:
    """Return the first row from which at most `keep` tokens are left. A result stays with its call;
    a row of a person is preferred."""
    waiting: set[CallId] = set()
    places: list[int] = []
    for n, line in enumerate(lines):
        if not waiting and line.role != "tool":
            places.append(n)
        waiting |= {call.id for call in line.calls}
        waiting.discard(line.call)
    left, passed = sum(costs), 0
    short: list[int] = []
    for place in places:
        left -= sum(costs[passed:place])
        passed = place
        if left <= keep:
            short.append(place)
    spoken = (place for place in short if lines[place].role == "user")
    return next(spoken, next(iter(short or places[-1:]), 0))


def _fitting(tail: Sequence[Line], costs: Sequence[int], keep: int) -> int:
    """Return how many rows of a long tail must be shown without their results to fit."""
    left = sum(costs)
    for n, line in enumerate(tail):
        if left <= keep:
            return n
        left -= costs[n] - tokens_of_line(bared(line))
    return len(tail)


def _from(session: Session, at: int) -> Iterator[Span]:
    """Yield the spans of the view without its first `at` rows."""
    for span in session.view.spans:
        stop = session.rows if span.stop is None else span.stop
        skipped = min(at, stop - span.start)
        at -= skipped
        if span.stop is None or span.start + skipped < stop:
            yield replace(span, start=span.start + skipped)


def _calls(head: Sequence[Line]) -> dict[CallId, Call]:
    return {call.id: call for line in head for call in line.calls}


def _said(head: Sequence[Line]) -> Iterator[str]:
    for line in head:
        if line.role == "user" and RELAYED not in line.labels and line.text.strip():
            yield _quoted(_short(line.text, SAID_CHARS))


def _decided(head: Sequence[Line]) -> Iterator[str]:
    calls = _calls(head)
    for line in head:
        if line.call in calls and (APPROVED in line.labels or line.outcome is Outcome.DENIED):
            call, yes = calls[line.call], APPROVED in line.labels
            yield _quoted(f"{'approved' if yes else 'refused'}: {call.tool} {call.arguments}")


def _open_request(session: Session, head: Sequence[Line]) -> str:
    """Return the request of the running turn if it is in the head, and so no longer in the view."""
    turn = session.turn
    asked = [line for line in head if turn is not None and line.turn == turn.id]
    return "\n".join(_quoted(line.text) for line in asked if line.role == "user")


def _latest(texts: Sequence[str], tokens_max: int) -> list[str]:
    kept: list[str] = []
    for text in reversed(texts):
        tokens_max -= tokens_of(text)
        if tokens_max < 0:
            break
        kept.insert(0, text)
    return kept


def _sections(before: str) -> dict[str, list[str]]:
    """Parse the verbatim quotes of the previous summary. A quoted line cannot look like a
    heading."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in before.splitlines():
        if line in _HEADINGS:
            heading = line
        elif line.startswith("> ") and heading:
            found.setdefault(heading, []).append(line)
        elif line.startswith(">>") and heading and found.get(heading):
            found[heading][-1] += "\n" + line
        else:
            heading = heading if not line else ""
    return found


def _quoted(text: str) -> str:
    """Quote a text. The first line has its own mark, so that quotes stay distinguishable."""
    first, *rest = text.splitlines() or [""]
    return "\n".join([f"> {first}", *(f">> {line}" for line in rest)])


def _short(text: str, chars: int = SHOWN_CHARS) -> str:
    if len(text) <= chars:
        return text
    left_out = len(text) - chars
    return f"{text[: chars * 2 // 3]} […{left_out:,} characters…] {text[-(chars // 3) :]}"
