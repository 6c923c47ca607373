"""Questions to people and their grants, as arrays for a batch and as single rows."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from hermes.core.messages import sound
from hermes.core.policy import GRANTS_MAX
from hermes.core.projection import AnswerRow, Commit, QuestionRow
from hermes.stores.postgres.arrays import Blobs, NumberArray, TextArray, Times
from hermes.stores.trusted import encode_grant

Numbered = Sequence[tuple[int, Commit]]


class Decided(NamedTuple):
    """The new state of a question; who decided stays unchanged where that is None."""

    state: str
    by: str | None
    at: float | None


def question_arrays(commits: Numbered) -> dict[str, object]:
    rows = [(n, settled(row, commit.answers)) for n, commit in commits for row in commit.questions]
    if not rows:
        return {}
    return {
        "q_n": NumberArray.of([n for n, _ in rows]),
        "q_id": TextArray.of([sound(row.id) for _, row in rows]),
        "q_key": TextArray.of([row.key for _, row in rows]),
        "q_turn": TextArray.of([row.turn for _, row in rows]),
        "q_tool": TextArray.of([sound(row.tool) for _, row in rows]),
        "q_preview": TextArray.of([sound(row.preview) for _, row in rows]),
        "q_why": TextArray.of([sound(row.why) for _, row in rows]),
        "q_asked_at": Times.of([row.asked_at for _, row in rows]),
        "q_expires_at": Times.of([row.expires_at for _, row in rows]),
        "q_state": TextArray.of([row.state for _, row in rows]),
        "q_decided_by": TextArray.of([sound(row.decided_by) for _, row in rows]),
        "q_decided_at": Times.of([row.decided_at for _, row in rows]),
    }


def answer_arrays(commits: Numbered) -> dict[str, object]:
    """Return the arrays of answers to earlier questions: one row each, because a statement can
    change a row only once."""
    rows = [
        (n, id_, decided)
        for n, commit in commits
        for id_, decided in _decisions(commit.answers).items()
        if id_ not in {row.id for row in commit.questions}
    ]
    if not rows:
        return {}
    return {
        "w_n": NumberArray.of([n for n, _, _ in rows]),
        "w_id": TextArray.of([sound(id_) for _, id_, _ in rows]),
        "w_state": TextArray.of([decided.state for _, _, decided in rows]),
        "w_by": TextArray.of([decided.by for _, _, decided in rows]),
        "w_at": Times.of([decided.at for _, _, decided in rows]),
    }


def grant_arrays(commits: Numbered) -> dict[str, object]:
    rows = [(n, grant) for n, commit in commits for grant in commit.grants]
    if not rows:
        return {}
    return {
        "g_n": NumberArray.of([n for n, _ in rows]),
        "g_id": TextArray.of([sound(grant.id) for _, grant in rows]),
        "g_body": Blobs.of([encode_grant(grant) for _, grant in rows]),
        "g_expires_at": Times.of([grant.expires_at for _, grant in rows]),
        "g_now": max(commit.at for _, commit in commits if commit.grants),
        "g_most": max(GRANTS_MAX - len(rows), 0),
    }


def settled(row: QuestionRow, answers: Sequence[AnswerRow]) -> QuestionRow:
    """Return the question with these answers applied."""
    for answer in answers:
        if answer.id == row.id and answer.state == "used":
            row = replace(row, state="used")
        elif answer.id == row.id:
            row = replace(row, state=answer.state, decided_by=answer.by, decided_at=answer.at)
    return row


def question_values(row: QuestionRow) -> dict[str, object]:
    return {
        "id": sound(row.id),
        "key": row.key,
        "turn": row.turn,
        "tool": sound(row.tool),
        "preview": sound(row.preview),
        "why": sound(row.why),
        "asked_at": row.asked_at,
        "expires_at": row.expires_at,
        "state": row.state,
        "decided_by": sound(row.decided_by),
        "decided_at": row.decided_at,
    }


def _decisions(answers: Sequence[AnswerRow]) -> dict[str, Decided]:
    found: dict[str, Decided] = {}
    for answer in answers:
        if answer.state == "used":
            before = found.get(answer.id, Decided("", None, None))
            found[answer.id] = Decided("used", before.by, before.at)
        else:
            found[answer.id] = Decided(answer.state, sound(answer.by), answer.at)
    return found
