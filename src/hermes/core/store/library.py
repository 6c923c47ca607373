"""The library: listings of sessions, turns, chats and questions, and the search."""

from collections.abc import Sequence
from typing import Protocol

from hermes.core.events import Event, Span
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.projection import QuestionRow, TurnRow
from hermes.core.recall import Scope
from hermes.core.store.rows import ChatRow, ConversationRow, Counts, Found, Home, SessionRow
from hermes.core.store.usage import Spending, UsageSum


class Library(Protocol):
    """Listings for people. Everything here can be rebuilt from the journal."""

    async def sessions(self, *, limit: int, before: float | None = None) -> Sequence[SessionRow]:
        """Newest activity first."""

    async def find(self, name: str) -> SessionRow | None:
        """By key, by conversation id (older ones too), or by a prefix of an id that fits one."""

    async def turns(self, *, limit: int, key: SessionKey | None = None) -> Sequence[TurnRow]: ...

    async def turn(self, turn: TurnId) -> TurnRow | None: ...

    async def events(
        self, key: SessionKey, *, after: int = 0, limit: int = 1000
    ) -> Sequence[Event]: ...

    async def records(self, key: SessionKey, *, after: int, limit: int) -> Sequence[bytes]:
        """The same as they are stored, whether they can be read or not."""

    async def search(
        self, question: str, *, scope: Scope, limit: int, hidden: Sequence[Span] = ()
    ) -> Found:
        """Rows of these sessions with all the words, without those of the hidden spans. Words,
        "phrases", -exclusions and beginnings* are understood; nothing else in it is syntax. It
        costs no more than so much: a question is cut, old rows with a common word are left out."""

    async def conversations(
        self, key: SessionKey | None, *, limit: int
    ) -> Sequence[ConversationRow]:
        """Those of one lane, or of all; the latest first. One without a row is not listed."""

    async def in_phase(self, phase: str, *, limit: int) -> Sequence[SessionRow]:
        """Sessions that are `running`, `asking` or `suspended`; newest activity first."""

    async def chats(self, *, limit: int) -> Sequence[ChatRow]:
        """The directory, latest first: every chat in which a message named its place."""

    async def homes(self) -> Sequence[Home]:
        """The home chat of each platform, the one that was set last first."""

    async def counts(self) -> Counts: ...

    async def questions(self, *, limit: int, pending: bool = False) -> Sequence[QuestionRow]:
        """What people were asked, the latest first; or only what still waits."""

    async def question(self, id_: str) -> QuestionRow | None: ...

    async def overdue(self, now: float, *, limit: int) -> Sequence[SessionKey]:
        """Sessions that wait for an answer or a result whose time is over."""

    async def usage(self, *, since: float, until: float, limit: int = 1_000) -> Spending:
        """What was spent in [since, until), by each dimension, at most `limit` rows of each."""

    async def spent(
        self,
        *,
        since: float,
        key: SessionKey | None = None,
        conversation: SessionId | None = None,
        person: str | None = None,
    ) -> Sequence[UsageSum]:
        """What was spent since then, by model; all of it, or that of one lane, of one conversation
        in its lane, of one person."""

    async def delete(self, key: SessionKey) -> bool:
        """Remove a session and all that belongs to it. Refused while a living node runs it."""

    async def rebuild(self) -> None:
        """Make every projection anew from the journal."""
