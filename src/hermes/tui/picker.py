"""Choose one of many by arrows and by typing, for /resume. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hermes.core.ids import SessionId, SessionKey
from hermes.core.store import ConversationRow
from hermes.text.plurals import counted
from hermes.text.visible_text import visible_text
from hermes.tui.calls import ago, cut_right

SHOWN_MAX = 8


@dataclass(kw_only=True)
class Picker:
    """A list to choose from. `typed` filters by title, first words and session name."""

    rows: Sequence[ConversationRow]
    here: SessionKey
    current: SessionId
    called: Callable[[SessionKey], str]
    at: int = 0

    def found(self, typed: str) -> Sequence[ConversationRow]:
        words = typed.casefold().split()
        return [row for row in self.rows if all(w in self._text(row).casefold() for w in words)]

    def move(self, by: int, typed: str) -> None:
        self.at = max(0, min(self.at + by, len(self.found(typed)) - 1))

    def picked(self, typed: str) -> ConversationRow | None:
        found = self.found(typed)
        return found[min(self.at, len(found) - 1)] if found else None

    def lines(self, typed: str, now: float, width: int) -> Sequence[tuple[bool, str]]:
        """Return the rows: whether each is selected, and its text."""
        found = self.found(typed)
        at = min(self.at, max(len(found) - 1, 0))
        first = max(0, min(at - SHOWN_MAX // 2, len(found) - SHOWN_MAX))
        shown = list(enumerate(found))[first : first + SHOWN_MAX]
        return [(n == at, cut_right(self._line(row, now), width - 2)) for n, row in shown]

    def _line(self, row: ConversationRow, now: float) -> str:
        place = "this one" if row.id == self.current else self.called(row.key)
        when = f"{ago(now - row.at)} ago"
        return (
            f"{self._title(row)}  ({visible_text(place)}, {counted(row.rows, 'message')}, {when})"
        )

    def _title(self, row: ConversationRow) -> str:
        text = " ".join(visible_text(row.title or row.opening or row.id).split())
        return text if len(text) <= 44 else f"{text[:43]}…"

    def _text(self, row: ConversationRow) -> str:
        return f"{row.title} {row.opening} {self.called(row.key)}"
