"""Add up usage and cost by day, model, session and tool."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

from msgspec import Struct
from msgspec.structs import asdict, replace

from hermes.core.messages import Usage, together
from hermes.core.store import Dimension, Spending, ToolSum, UsageSum

DAY_S = 86_400
DAYS, DAYS_MAX = 30, 3_660

# Model, tokens, number of calls: US dollars, or None if the price is unknown.
Cost = Callable[[str, Usage, int], float | None]


class Figure(Struct, frozen=True, kw_only=True):
    """The sum of calls under one name. `cost` covers the calls with a known price, None if there
    are none; `unknown` are the models without a price."""

    name: str
    calls: int = 0
    tokens: Usage = Usage()
    cost: float | None = None
    unknown: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return self.tokens.input + self.tokens.output

    @property
    def cache_share(self) -> float | None:
        """Return the share of input tokens that came from the provider's cache."""
        return self.tokens.cached / self.tokens.input if self.tokens.input else None


class Insights(Struct, frozen=True, kw_only=True):
    """All figures of a period. `days` has no gaps; the others are sorted by tokens, descending."""

    since: float
    until: float
    total: Figure
    days: tuple[Figure, ...]
    models: tuple[Figure, ...]
    purposes: tuple[Figure, ...]
    platforms: tuple[Figure, ...]
    sessions: tuple[Figure, ...]
    people: tuple[Figure, ...]
    tools: tuple[ToolSum, ...]


def period(days: int, now: float) -> tuple[float, float]:
    """Return the period of the last `days` days including today, from midnight to midnight UTC."""
    midnight = now - now % DAY_S
    return midnight - (days - 1) * DAY_S, midnight + DAY_S


def insights(spending: Spending, cost: Cost, *, since: float, until: float) -> Insights:
    def by(dimension: Dimension) -> tuple[Figure, ...]:
        return figures((each for each in spending.sums if each.by == dimension), cost)

    models = by("model")
    days = {figure.name: figure for figure in by("day")}
    return Insights(
        since=since,
        until=until,
        total=total(models),
        days=tuple(days.get(day) or Figure(name=day) for day in _days(since, until)),
        models=models,
        purposes=by("purpose"),
        platforms=by("platform"),
        sessions=by("session"),
        people=by("person"),
        tools=spending.tools,
    )


def figures(sums: Iterable[UsageSum], cost: Cost) -> tuple[Figure, ...]:
    """Return one figure for each name, sorted by tokens, descending."""
    named: dict[str, list[UsageSum]] = {}
    for each in sums:
        named.setdefault(each.name, []).append(each)
    found = [_figure(name, group, cost) for name, group in named.items()]
    return tuple(sorted(found, key=lambda figure: (-figure.total, figure.name)))


def total(parts: Sequence[Figure], name: str = "") -> Figure:
    costs = [part.cost for part in parts if part.cost is not None]
    return Figure(
        name=name,
        calls=sum(part.calls for part in parts),
        tokens=together([part.tokens for part in parts]),
        cost=sum(costs) if costs else None,
        unknown=tuple(sorted({model for part in parts for model in part.unknown})),
    )


def spent_figure(sums: Iterable[UsageSum], cost: Cost, name: str = "") -> Figure:
    """Return the sum of everything as one figure."""
    return total(figures(sums, cost), name)


def document(found: Insights) -> Mapping[str, object]:
    """Return the insights for JSON. An unknown price is null, next to the models without one."""

    def plain(figure: Figure) -> Mapping[str, object]:
        tokens = {name: n for name, n in asdict(figure.tokens).items() if name != "cost"}
        named = {"name": figure.name} if figure.name else {}
        priced = {"cost": figure.cost, "price_unknown": figure.unknown}
        return {**named, "calls": figure.calls, **tokens, **priced}

    return {
        "since": _iso(found.since),
        "until": _iso(found.until),
        "total": plain(found.total),
        "days": [plain(figure) for figure in found.days],
        "models": [plain(figure) for figure in found.models],
        "purposes": [plain(figure) for figure in found.purposes],
        "platforms": [plain(figure) for figure in found.platforms],
        "sessions": [plain(figure) for figure in found.sessions],
        "people": [plain(figure) for figure in found.people],
        "tools": [asdict(tool) for tool in found.tools],
    }


def _figure(name: str, group: Sequence[UsageSum], cost: Cost) -> Figure:
    costs = {id(each): cost(each.model, each.usage, each.calls) for each in group}
    known = [price for price in costs.values() if price is not None]
    unknown = {each.model for each in group if costs[id(each)] is None}
    return Figure(
        name=name,
        calls=sum(each.calls for each in group),
        tokens=replace(together([each.usage for each in group]), cost=None),
        cost=sum(known) if known else None,
        unknown=tuple(sorted(unknown)),
    )


def _days(since: float, until: float) -> Iterable[str]:
    day, last = _date(since), _date(max(since, until - 1))
    while day <= last:
        yield day.isoformat()
        day += timedelta(days=1)


def _date(at: float) -> date:
    return datetime.fromtimestamp(at, UTC).date()


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
