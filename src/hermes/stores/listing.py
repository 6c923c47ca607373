"""Rows of listings as both stores select them, and the values that a commit changes in them."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from hermes.core.codec import decode_event, decode_session
from hermes.core.errors import RowUnreadable
from hermes.core.events import CallEnded, FactSet, HomeSet, SessionReset
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.messages import Address, Usage, sound
from hermes.core.projection import Commit, QuestionRow, TurnRow
from hermes.core.session import Session
from hermes.core.store import ChatRow, ConversationRow, Home, SessionRow, ToolSum, UsageSum

T = TypeVar("T")

OPENING_CHARS_MAX = 80

_HOME = str(HomeSet.__struct_config__.tag)
_TITLED = {str(kind.__struct_config__.tag) for kind in (FactSet, CallEnded, SessionReset)}


def readable(made: Callable[..., T], found: Iterable[Sequence[Any]]) -> list[T]:
    """Convert the rows and skip those that cannot be read. Opening their session reports them."""
    values = []
    for row in found:
        with suppress(RowUnreadable):
            values.append(made(*row))
    return values


def snapshot_of(key: SessionKey, state: bytes | None) -> Session:
    """Return the session to fold from. An unreadable snapshot is rebuilt from the journal."""
    with suppress(RowUnreadable):
        return Session(key=key) if state is None else decode_session(state)
    return Session(key=key)


def session_row(*row: Any) -> SessionRow:
    key, id_, phase, mark, runs, waiting, title, created_at, updated_at, head, lines = row
    return SessionRow(
        key=SessionKey(key),
        id=SessionId(id_),
        phase=phase,
        mark=mark,
        runs=runs,
        waiting=waiting,
        title=title,
        created_at=created_at,
        updated_at=updated_at,
        events=head,
        rows=lines,
    )


def turn_row(*row: Any) -> TurnRow:
    id_, key, session, state, attempts, started_at, ended_at, first = row
    return TurnRow(
        id=TurnId(id_),
        key=SessionKey(key),
        session=SessionId(session),
        state=state,
        attempts=attempts,
        started_at=started_at,
        ended_at=ended_at,
        first=first,
    )


def question_row(*row: Any) -> QuestionRow:
    id_, key, turn, tool, preview, why, asked_at, expires_at, state, decided_by, decided_at = row
    return QuestionRow(
        id=id_,
        key=SessionKey(key),
        turn=TurnId(turn),
        tool=tool,
        preview=preview,
        why=why,
        asked_at=asked_at,
        expires_at=expires_at,
        state=state,
        decided_by=decided_by,
        decided_at=decided_at,
    )


def conversation_row(*row: Any) -> ConversationRow:
    """Return a conversation as a row. `text` is its first message of a person, if it has one."""
    id_, key, title, lines, at, text = row
    return ConversationRow(
        id=SessionId(id_),
        key=SessionKey(key),
        title=title,
        rows=lines,
        opening=_first_words(text or ""),
        at=at,
    )


def chat_row(*row: Any) -> ChatRow:
    platform, chat, thread, account, name, key, seen_at = row
    return ChatRow(
        address=Address(platform=platform, chat=chat, thread=thread, account=account),
        name=name,
        session=SessionKey(key),
        seen_at=seen_at,
    )


def home_row(*row: Any) -> Home:
    platform, chat, thread, account, at = row
    return Home(
        address=Address(platform=platform, chat=chat, thread=thread, account=account), at=at
    )


def usage_sum(*row: Any) -> UsageSum:
    by, name, model, calls, input_, output, cached, written, reasoning, cost = row
    tokens = Usage(
        input=input_,
        output=output,
        cached=cached,
        cache_written=written,
        reasoning=reasoning,
        cost=cost,
    )
    return UsageSum(by=by, name=name, model=model, calls=calls, usage=tokens)


def tool_sum(*row: Any) -> ToolSum:
    tool, calls, failed, timed, seconds = row
    return ToolSum(tool=tool, calls=calls, failed=failed, timed=timed, seconds=seconds)


def homes_of(commit: Commit) -> Sequence[Home]:
    """Return the homes that the commit sets, each with the time of its event; the last one of each
    platform."""
    times = [event.at for event in commit.events if event.kind == _HOME]
    pairs = zip(commit.homes, times, strict=True)
    homes = {address.platform: Home(address=address, at=at) for address, at in pairs}
    return tuple(homes.values())


def titles_of(commit: Commit) -> Sequence[str | None]:
    """Return the titles that the commit sets: of the conversation that was current before it, then
    of each conversation that it opens by a reset. None where it sets none."""
    titles: list[str | None] = [None]
    for written in commit.events:
        if written.kind not in _TITLED:
            continue
        match decode_event(written.body):
            case FactSet(name="title", value=value):
                titles[-1] = value
            case CallEnded(facts=facts):
                titles[-1] = facts.get("title", titles[-1])
            case SessionReset():
                titles.append(None)
    return titles


def _first_words(text: str) -> str:
    words = " ".join(sound(text[: 4 * OPENING_CHARS_MAX]).split())
    return words if len(words) <= OPENING_CHARS_MAX else f"{words[: OPENING_CHARS_MAX - 1]}…"
