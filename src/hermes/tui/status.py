"""The status line: the most important facts, as many as fit. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from hermes.core.store import UsageSum
from hermes.views.amounts import cells_of, money, tokens
from hermes.views.insights import Cost

GAP = " · "


class StatusLine(Struct, frozen=True, kw_only=True):
    session: str
    model: str = ""
    filled: int = 0
    window: int = 0
    cost: str = ""
    waiting: int = 0
    sandbox: str = ""
    asking: int = 0
    mode: str = ""
    link: str = ""  # how the engine is reached; "": it is not yet


class Part(NamedTuple):
    text: str
    style: str = ""
    rank: int = 0  # what is least important goes first when there is no room


def parts(status: StatusLine) -> Sequence[Part]:
    asks = f"{status.asking} approval{'s' if status.asking > 1 else ''} waiting (/approve)"
    found = (
        Part(status.session, "class:bar.name", 90),
        Part(_model(status.model), "", 60),
        Part(_context(status.filled, status.window), "", 70),
        Part(status.cost, "", 50),
        Part(f"{status.waiting} queued" if status.waiting else "", "class:bar.warn", 80),
        Part(asks if status.asking else "", "class:bar.warn", 100),
        Part(status.sandbox, "", 40),
        Part(status.link, "", 20),
        Part(f"^T {status.mode}" if status.mode else "", "class:bar.name", 85),
    )
    return [part for part in found if part.text]


def fitted(status: StatusLine, width: int) -> Sequence[Part]:
    """Return the parts in order, without the least important ones until the rest fits."""
    kept = list(parts(status))
    while len(kept) > 1 and _length(kept) > width:
        least = min(kept, key=lambda part: part.rank)
        shorter = _shorter(least)
        if shorter is not None:
            kept[kept.index(least)] = shorter
        else:
            kept.remove(least)
    return kept


def text_of(found: Sequence[Part]) -> str:
    return GAP.join(part.text for part in found)


def cost_of(spent: Sequence[UsageSum], price: Cost) -> str:
    """Return the known cost, with a + when some is unknown; empty when it costs nothing."""
    costs = [price(each.model, each.usage, each.calls) for each in spent]
    known = [cost for cost in costs if cost is not None]
    more = "+" if len(known) < len(costs) else ""
    return f"{money(sum(known))}{more}" if sum(known) else ""


def _shorter(part: Part) -> Part | None:
    """Return a shorter form of a part: a model's name loses its provider before it is left out."""
    bare = part.text.rpartition("/")[2].rpartition(":")[2]
    return part._replace(text=bare) if part.rank == 60 and bare != part.text else None


def _length(found: Sequence[Part]) -> int:
    return cells_of(text_of(found)) + 2


def _model(name: str) -> str:
    return name if len(name) <= 32 else f"{name[:31]}…"


def _context(filled: int, window: int) -> str:
    if not window:
        return f"{tokens(filled)} tokens" if filled else ""
    return f"{tokens(filled)}/{tokens(window)} {100 * filled / window:.0f}%"
