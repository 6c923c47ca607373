"""The accounts: every model call and every tool call, as arrays for a batch and as single rows."""

from collections.abc import Sequence

from hermes.core.ids import SessionKey
from hermes.core.messages import sound
from hermes.core.projection import CallRow, Commit, UsageRow
from hermes.stores.postgres.arrays import Numbers, Texts, Times


def usage_arrays(commits: Sequence[tuple[int, Commit]]) -> dict[str, object]:
    rows = [(n, commit.key, row) for n, commit in commits for row in commit.usage]
    if not rows:
        return {}
    spent = [row.spent for _, _, row in rows]
    return {
        "u_n": Numbers.of([n for n, _, _ in rows]),
        "u_i": Numbers.of([row.event for _, _, row in rows]),
        "u_key": Texts.of([key for _, key, _ in rows]),
        "u_session": Texts.of([row.session for _, _, row in rows]),
        "u_turn": Texts.of([row.turn for _, _, row in rows]),
        "u_ordinal": Numbers.of([row.ordinal for _, _, row in rows]),
        "u_at": Times.of([row.at for _, _, row in rows]),
        "u_platform": Texts.of([sound(row.platform) for _, _, row in rows]),
        "u_person": Texts.of([sound(row.person) for _, _, row in rows]),
        "u_model": Texts.of([sound(each.model) for each in spent]),
        "u_purpose": Texts.of([sound(each.purpose) for each in spent]),
        "u_input": Numbers.of([each.usage.input for each in spent]),
        "u_output": Numbers.of([each.usage.output for each in spent]),
        "u_cached": Numbers.of([each.usage.cached for each in spent]),
        "u_cache_written": Numbers.of([each.usage.cache_written for each in spent]),
        "u_reasoning": Numbers.of([each.usage.reasoning for each in spent]),
        "u_cost": Times.of([each.usage.cost for each in spent]),
    }


def call_arrays(commits: Sequence[tuple[int, Commit]]) -> dict[str, object]:
    rows = [(n, commit.key, row) for n, commit in commits for row in commit.calls]
    if not rows:
        return {}
    return {
        "k_n": Numbers.of([n for n, _, _ in rows]),
        "k_i": Numbers.of([row.event for _, _, row in rows]),
        "k_key": Texts.of([key for _, key, _ in rows]),
        "k_tool": Texts.of([sound(row.tool) for _, _, row in rows]),
        "k_outcome": Texts.of([row.outcome.value for _, _, row in rows]),
        "k_at": Times.of([row.at for _, _, row in rows]),
        "k_seconds": Times.of([row.seconds for _, _, row in rows]),
    }


def usage_values(key: SessionKey, before: int, row: UsageRow) -> dict[str, object]:
    """`before` is the position behind which the commit's events stand."""
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
