"""What a script leaves: its output, how it ended, and the calls that it made."""

from collections import Counter
from collections.abc import Sequence

from hermes.core.messages import Call, Line, Outcome
from hermes.ports.terminal import Ended, Lost, Sighting, Terminal
from hermes.tools.excerpt import excerpt_of
from hermes.tools.terminal import outcome_of, verdict_on

HEAD_SHARE = 0.4  # of the output that is shown
LISTED_MAX = 50
LOST = (
    "outcome unknown: the script began, is no longer alive and left no exit status. It is not run "
    "again. What it had done is listed; look before you repeat any of it"
)


def calls_made(lines: Sequence[Line]) -> list[Call]:
    """Return the calls of a script in the order of their numbers."""
    return [call for line in lines if line.role == "assistant" for call in line.calls]


def results_of(lines: Sequence[Line]) -> dict[str, Line]:
    return {line.call: line for line in lines if line.role == "tool"}


async def last_words(
    terminal: Terminal, seen: Sighting, lines: Sequence[Line], output_bytes: int
) -> tuple[str, Outcome]:
    """Return what the model reads of a script that is over, and how that ended."""
    head = int(output_bytes * HEAD_SHARE)
    text = await excerpt_of(terminal, seen, head, output_bytes - head)
    notes = [LOST] if isinstance(seen.state, Lost) else verdict_on(seen)
    if isinstance(seen.state, Ended) and seen.state.code == 0 and not seen.state.cut:
        notes = []  # nothing to say about what went well
    notes += [f"{seen.took_s:.0f} s"] if seen.took_s >= 1 else []
    notes += [made] if (made := _made(lines)) else []
    said = f"[{'; '.join(notes)}]" if notes else ""
    if isinstance(seen.state, Lost):
        said += "".join(f"\n{row}" for row in _listed(lines))
    return text + said or "[it printed nothing]", outcome_of(seen)


def _made(lines: Sequence[Line]) -> str:
    """Say how many calls of each tool there were, and how many of them failed."""
    calls, results = calls_made(lines), results_of(lines)
    if not calls:
        return ""
    failed = Counter(
        call.tool
        for call in calls
        if call.id not in results or results[call.id].outcome is not Outcome.OK
    )
    counts = Counter(call.tool for call in calls)
    rows = [
        f"{tool} {count}" + (f" ({failed[tool]} failed)" if failed[tool] else "")
        for tool, count in counts.items()
    ]
    return f"calls: {', '.join(rows)}"


def _listed(lines: Sequence[Line]) -> list[str]:
    results = results_of(lines)
    rows = []
    for number, call in enumerate(calls_made(lines)[-LISTED_MAX:], start=1):
        line = results.get(call.id)
        how = line.outcome.value if line is not None and line.outcome is not None else "unknown"
        rows.append(f"{number}. {call.tool} {call.arguments[:200]}: {how}")
    return rows
