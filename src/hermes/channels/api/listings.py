"""Sessions, messages, turns and questions as JSON documents. Pure; times are ISO 8601 in UTC."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec.structs import asdict

from hermes.channels.api.manifest import name_of
from hermes.core.messages import Line, Usage
from hermes.core.projection import QuestionRow, TurnRow
from hermes.core.store import SessionRow
from hermes.views.turn_story import StepRow, total

Document = Mapping[str, object]


def iso(at: float | None) -> str | None:
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def session_document(row: SessionRow) -> Document:
    return {
        "id": row.id,
        "key": row.key,
        "name": name_of(row.key),
        "phase": row.phase,
        "resume_pending": bool(row.mark),
        "mark": row.mark,
        "suspended": row.phase == "suspended",
        "runs": row.runs,
        "waiting": row.waiting,
        "title": row.title,
        "rows": row.rows,
        "events": row.events,
        "created_at": iso(row.created_at),
        "updated_at": iso(row.updated_at),
    }


def message_document(line: Line) -> Document:
    """Return the stored row with its time as text. Empty fields are left out, except the text."""
    plain: dict[str, object] = msgspec.to_builtins(line)
    return {**plain, "text": line.text, "at": iso(line.at)}


def turn_document(turn: TurnRow, steps: Sequence[StepRow]) -> Document:
    return {
        "id": turn.id,
        "session": turn.key,
        "session_id": turn.session,
        "state": turn.state,
        "attempts": turn.attempts,
        "started_at": iso(turn.started_at),
        "ended_at": iso(turn.ended_at),
        "steps": [_step(step) for step in steps],
        "usage": asdict(total(steps)),
    }


def question_document(row: QuestionRow) -> Document:
    """Return a call that waits for a person: what would run, and why it needs a yes."""
    return {
        "id": row.id,
        "session": row.key,
        "turn": row.turn,
        "tool": row.tool,
        "preview": row.preview,
        "why": row.why,
        "asked_at": iso(row.asked_at),
        "expires_at": iso(row.expires_at or None),
        "state": row.state,
        "decided_by": row.decided_by,
        "decided_at": iso(row.decided_at),
    }


def _step(step: StepRow) -> Document:
    shown: dict[str, object] = {
        "kind": step.kind,
        "name": step.name,
        "state": step.state,
        "effect": step.effect,
        "outcome": step.outcome,
        "starts": step.starts,
        "started_at": iso(step.started_at),
        "ended_at": iso(step.ended_at),
    }
    if step.kind == "tool":
        return {**shown, "call": step.call, "arguments": step.arguments}
    return {**shown, "usage": asdict(step.usage or Usage())}
