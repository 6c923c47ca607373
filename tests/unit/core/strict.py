"""The strictest provider one can think of, as a checker."""

from collections.abc import Sequence
from itertools import pairwise

from hermes.core.ids import CallId
from hermes.core.messages import Line
from hermes.core.session import Session
from hermes.core.transcript import Reading, spoken


def request_lines(session: Session, lines: Sequence[Line]) -> tuple[Line, ...]:
    """All of a conversation as a model gets it."""
    return Reading(session.view).request(session, lines)


def faults(lines: Sequence[Line]) -> list[str]:
    """What such a provider would refuse; empty when it would take the conversation."""
    found = [f"begins with {line.role}" for line in lines[:1] if line.role != "user"]
    found += (
        f"two {line.role} lines in a row"
        for before, line in pairwise(lines)
        if line.role == before.role and line.role != "tool"
    )
    found += (
        f"a blank {line.role} line"
        for line in lines
        if line.role != "tool" and not (spoken(line).strip() or line.calls or line.media)
    )
    return found + _owing(lines)


def _owing(lines: Sequence[Line]) -> list[str]:
    """Each call is answered once, at once, and no two calls share an id."""
    found: list[str] = []
    seen: set[CallId] = set()
    owed: list[CallId] = []
    for line in lines:
        if line.role == "tool":
            if line.call not in owed:
                found.append("a result that nobody asked for")
                continue
            owed.remove(line.call)
        elif owed:
            found.append(f"{line.role} while results are owed")
        for call in line.calls:
            if call.id in seen:
                found.append("a call id is used twice")
            seen.add(call.id)
            owed.append(call.id)
    return found + (["results are owed at the end"] if owed else [])
