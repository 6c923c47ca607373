"""A search request, and a found row as a hit, for both stores."""

from msgspec import Struct

from hermes.core.events import Span
from hermes.core.ids import SessionId, SessionKey
from hermes.core.messages import Line
from hermes.core.recall import Scope
from hermes.core.store import Found, Hit
from hermes.stores.words import Lens, SearchQuery

CANDIDATES = 40  # rows that are ranked
HIDDEN_MAX = 50  # spans
ORDINAL_MAX = 2**31 - 1
UNREAD = "Some messages are not ready to be searched yet; ask again in a minute."
STOPPED = "The search was stopped because it took too long; use rarer words."


class SearchRequest(Struct, frozen=True, kw_only=True):
    question: SearchQuery
    scope: Scope
    limit: int
    hidden: tuple[Span, ...] = ()

    @property
    def candidates(self) -> int:
        return max(CANDIDATES, self.limit)

    def ranges(self) -> list[tuple[SessionId, int, int]]:
        """Return the rows to leave out: conversation, first ordinal, and the ordinal behind the
        last."""
        spans = self.hidden[:HIDDEN_MAX]
        return [(s.session, s.start, ORDINAL_MAX if s.stop is None else s.stop) for s in spans]

    def found(self, hits: list[Hit], *, read: bool, whole: bool) -> Found:
        """Return the hits that the scope allows. The index is trusted about words, not about
        permissions."""
        notes = (*self.question.notes, *[UNREAD] * (not read), *[STOPPED] * (not whole))
        return Found(hits=tuple(h for h in hits if self.scope.covers(h.key)), notes=notes)


def hit_of(key: str, id_: str, ordinal: int, line: Line, lens: Lens) -> Hit:
    shown, marks = lens.excerpt(line.text)
    return Hit(
        key=SessionKey(key),
        id=SessionId(id_),
        ordinal=ordinal,
        role=line.role,
        at=line.at,
        excerpt=shown,
        sender=line.sender,
        marks=marks,
    )
