"""Lay out the lower part of the window, which is redrawn on each change. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text

from hermes.tui.board import Board
from hermes.tui.calls import OPEN_LINES, TAIL_LINES, CallView, cut_right, label, last_lines, lasting
from hermes.tui.calls import unfolded as unfolded_lines
from hermes.tui.picker import Picker
from hermes.tui.questions import QuestionCard
from hermes.tui.status import GAP, StatusLine, fitted
from hermes.tui.transcript_items import MARK
from hermes.views.cards import QUOTE, folded

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
QUEUED_SHOWN = 3
CARD_ROWS = 4  # of a question, besides its text
ABOVE = "(read it above: it is too long for here)"
Row = StyleAndTextTuples
_KINDS = {
    "head": "bold",
    "about": "",
    "quiet": "class:quiet",
    "added": "class:added",
    "removed": "class:removed",
}
_CHANGES = {f"{QUOTE}+": "class:added", f"{QUOTE}-": "class:removed"}


@dataclass(frozen=True, kw_only=True)
class Look:
    """Everything that the lower part shows."""

    board: Board
    now: float
    width: int
    height: int
    unsent: Sequence[str] = ()
    typed: str = ""
    typing: bool = False  # the question is set aside for a line that is written
    above: bool = False  # the question is too long for here, and stands in the scrollback
    unfolded: CallView | None = None
    open_calls: bool = False
    picker: Picker | None = None
    hint: str = ""
    draw: Callable[[str, int, int], Sequence[str]] = lambda text, _width, rows: text.splitlines()[
        -rows:
    ]


def upper(look: Look) -> StyleAndTextTuples:
    """Return what is above the input line: the turn in progress."""
    rows = [*_under_way(look), *_queued(look)]
    if look.unfolded is not None:
        rows += _unfolded(look, look.unfolded)
    if look.board.question is not None:
        rows += _question(look, look.board.question)
    if look.picker is not None:
        rows += _picker(look, look.picker)
    if look.hint:
        rows.append([("class:quiet", look.hint)])
    return _joined([[], *rows[-max(look.height, 3) :], *([[]] if rows else [])])


def _under_way(look: Look) -> Iterable[Row]:
    board = look.board
    spin = FRAMES[int(look.now * 8) % len(FRAMES)]
    for text in look.draw(board.live, look.width, max(look.height - 4, 3)):
        yield list(to_formatted_text(ANSI(text)))
    running = board.calls.running
    for call in running:
        yield from _call(look, call, spin)
    if board.busy and not running and board.question is None:
        yield _thinking(look, spin)


def _call(look: Look, call: CallView, spin: str) -> Iterable[Row]:
    took = call.took(look.now)
    name, _, about = label(call, look.width - len(took) - 5).partition(" ")
    yield [
        ("class:accent", f"{spin} "),
        ("bold", name),
        ("class:quiet", f" {about}  {took}"),
    ]
    count = OPEN_LINES if look.open_calls or call.whole else TAIL_LINES
    for line in last_lines(call, count, look.width - 4):
        yield [("class:quiet", f"  │ {line}")]


def _thinking(look: Look, spin: str) -> Row:
    board = look.board
    if board.marked:
        return [
            ("class:warn", "‖ "),
            ("", "interrupted; it resumes automatically, or when you write"),
        ]
    word = board.work or ("writing" if board.live.strip() else "thinking")
    took = lasting(look.now - board.began_at)
    thought = " ".join(board.thinking.split())[-(look.width - len(word) - 16) :]
    return [
        ("class:accent", f"{spin} "),
        ("", cut_right(word, look.width - 12)),
        ("class:quiet", f"  {took}  {thought}".rstrip()),
    ]


def _queued(look: Look) -> Iterable[Row]:
    marked = [("queued", text) for text in look.board.queue.texts if look.board.busy]
    marked += [("sending", text) for text in look.unsent]
    for word, text in marked[:QUEUED_SHOWN]:
        line = cut_right(" ".join(text.split()), look.width - len(word) - 4)
        yield [("class:warn", f"⋯ {word} "), ("class:quiet", line)]
    if len(marked) > QUEUED_SHOWN:
        yield [("class:quiet", f"⋯ {len(marked) - QUEUED_SHOWN} more")]


def _unfolded(look: Look, call: CallView) -> Iterable[Row]:
    lines = unfolded_lines(call, look.now, max(look.height - 8, 4), look.width)
    yield [("class:quiet", "─" * look.width)]
    for row in lines:
        yield [(_KINDS[row.kind], row.text)]
    yield [("class:quiet", "^O folds it, Alt+↑ and Alt+↓ show others")]


def _question(look: Look, question: QuestionCard) -> Iterable[Row]:
    yield [("class:warn", "─" * look.width)]
    card = card_lines(question, look.width)
    if look.above:
        yield [("bold", card[0]), ("class:quiet", f"  {ABOVE}")]
    else:
        for n, line in enumerate(card):
            yield [("bold" if n == 0 else _card_style(line), line)]
        yield []
    keys: Row = []
    for key, said, _ in question.answers:
        keys += [("class:key", f" {key} "), ("", f" {said}   ")]
    if question.words and (look.typing or look.typed or not question.answers):
        yield [("class:quiet", "Enter sends your answer.")]
    elif question.words:
        yield [*keys, ("class:quiet", "or write your answer")]
    elif not question.answers:
        yield [("class:quiet", "Answer with a message.")]
    elif look.typing or look.typed:
        yield [("class:quiet", "Send or clear your line first; then one key answers.")]
    else:
        yield [*keys, ("class:quiet", "Esc to write instead")]


def card_lines(question: QuestionCard, width: int) -> Sequence[str]:
    """Return the question in full: a person must not decide by a part that happened to fit."""
    return folded(question.text, width) or [""]


def _card_style(line: str) -> str:
    """Return the style of a line of the card. A diff stands behind a bar, and has its colours."""
    return _CHANGES.get(line[: len(QUOTE) + 1], "")


def _picker(look: Look, picker: Picker) -> Iterable[Row]:
    yield [("class:quiet", "─" * look.width)]
    yield [("bold", "Go back to a conversation"), ("class:quiet", "  type to filter")]
    lines = picker.lines(look.typed, look.now, look.width)
    for chosen, line in lines:
        yield [("class:chosen" if chosen else "", f"{MARK if chosen else ' '} {line}")]
    if not lines:
        yield [("class:quiet", "  none")]
    yield [("class:quiet", "↑ ↓ choose, Enter opens, Esc leaves it")]


def bar(status: StatusLine, width: int) -> StyleAndTextTuples:
    """Return the status line, as wide as the window."""
    row: StyleAndTextTuples = [("", " ")]
    used = 1
    for n, part in enumerate(fitted(status, width)):
        gap = GAP if n else ""
        row += [("class:bar.quiet", gap), (part.style, part.text)]
        used += len(gap) + len(part.text)
    row.append(("", " " * max(width - used, 0)))
    return row


def prompt(board: Board, mode: str, *, picking: bool, asking: bool) -> StyleAndTextTuples:
    if picking or asking:
        return [("class:accent", f"{'filter' if picking else 'answer'} {MARK} ")]
    if board.busy:
        return [("class:warn", f"{mode} "), ("class:you", f"{MARK} ")]
    return [("class:you", f"{MARK} ")]


def _joined(rows: Sequence[Row]) -> StyleAndTextTuples:
    whole: StyleAndTextTuples = []
    for n, row in enumerate(rows):
        whole += [("", "\n")] if n else []
        whole += row
    return whole
