"""Usage accounting: model calls and tool calls, as arrays for a batch and as single rows."""

from collections.abc import Sequence

from hermes.core.ids import SessionKey
from hermes.core.messages import sound
from hermes.core.projection import CallRow, Commit, UsageRow
from hermes.stores.postgres.arrays import NumberArray, TextArray, Times


def usage_arrays(commits: Sequence[tuple[int, Commit]]) -> dict[str, object]:
    rows = [(n, commit.key, row) for n, commit in commits for row in commit.usage]
    if not rows:
        return {}
    spent = [row.spent for _, _, row in rows]
    return {
        "u_n": NumberArray.of([n for n, _, _ in rows]),
        "u_i": NumberArray.of([row.event for _, _, row in rows]),
        "u_key": TextArray.of([key for _, key, _ in rows]),
        "u_session": TextArray.of([row.session for _, _, row in rows]),
        "u_turn": TextArray.of([row.turn for _, _, row in rows]),
        "u_ordinal": NumberArray.of([row.ordinal for _, _, row in rows]),
        "u_at": Times.of([row.at for _, _, row in rows]),
        "u_platform": TextArray.of([sound(row.platform) for _, _, row in rows]),
        "u_person": TextArray.of([sound(row.person) for _, _, row in rows]),
        "u_model": TextArray.of([sound(each.model) for each in spent]),
        "u_purpose": TextArray.of([sound(each.purpose) for each in spent]),
        "u_input": NumberArray.of([each.usage.input for each in spent]),
        "u_output": NumberArray.of([each.usage.output for each in spent]),
        "u_cached": NumberArray.of([each.usage.cached for each in spent]),
        "u_cache_written": NumberArray.of([each.usage.cache_written for each in spent]),
        "u_reasoning": NumberArray.of([each.usage.reasoning for each in spent]),
        "u_cost": Times.of([each.usage.cost for each in spent]),
    }


def call_arrays(commits: Sequence[tuple[int, Commit]]) -> dict[str, object]:
    rows = [(n, commit.key, row) for n, commit in commits for row in commit.calls]
    if not rows:
        return {}
    return {
        "k_n": NumberArray.of([n for n, _, _ in rows]),
        "k_i": NumberArray.of([row.event for _, _, row in rows]),
        "k_key": TextArray.of([key for _, key, _ in rows]),
        "k_tool": TextArray.of([sound(row.tool) for _, _, row in rows]),
        "k_outcome": TextArray.of([row.outcome.value for _, _, row in rows]),
        "k_at": Times.of([row.at for _, _, row in rows]),
        "k_seconds": Times.of([row.seconds for _, _, row in rows]),
    }


def usage_values(key: SessionKey, before: int, row: UsageRow) -> dict[str, object]:
    """Return the values of a usage row. `before` is the journal position before the commit's
    events."""
    spent, usage = row.spent, row.spent.usage
    return {
        "key": key,
        "session": row.session,
        "turn": row.turn,
        "position": before + row.event,
        "ordinal": row.ordinal,
        "at": row.at,
        "platform": sound(row.platform),
        "person": sound(row.person),
        "model": sound(spent.model),
        "purpose": sound(spent.purpose),
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "cache_written": usage.cache_written,
        "reasoning": usage.reasoning,
        "cost": usage.cost,
    }


def call_values(key: SessionKey, before: int, row: CallRow) -> dict[str, object]:
    return {
        "key": key,
        "position": before + row.event,
        "tool": sound(row.tool),
        "outcome": row.outcome.value,
        "at": row.at,
        "seconds": row.seconds,
    }
