"""Every row as the document tells it: which figure, in which unit, and what is better. Pure."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bench.peers import OURS, PEERS

Unit = Literal["s", "MB", "/s", "", "tokens"]
Json = Mapping[str, Any]
TIMES = "\N{MULTIPLICATION SIGN}"
ORDER = (OURS.name, *(peer.name for peer in PEERS))


@dataclass(frozen=True)
class Measure:
    row: str
    key: str
    label: str
    unit: Unit = "s"
    more: bool = False  # is better


@dataclass(frozen=True)
class Figure:
    """The median of several rounds, and how far they lay apart."""

    median: float
    low: float
    high: float
    rounds: int


def _load(kind: str, words: str) -> Iterator[Measure]:
    for sessions in (1, 16, 64):
        many = "1 session" if sessions == 1 else f"{sessions} sessions"
        stem = f"{kind}{sessions}"
        yield Measure("turns", f"{stem}_turns_s", f"turns a second, {many}, {words}", "/s", True)
        yield Measure("turns", f"{stem}_latency_s", f"added latency, {many}, {words}")
        yield Measure("turns", f"{stem}_cpu_s", f"CPU of a turn, {many}, {words}")


INSTALL = (
    Measure("install", "wall_s", "time to install"),
    Measure("install", "mb", "size on disk", "MB"),
    Measure("install", "packages", "packages", ""),
)
START = (
    Measure("version", "wall_s", "`--version`, wall"),
    Measure("version", "cpu_s", "`--version`, CPU"),
    Measure("ask", "first_wall_s", "one question, fresh home, wall"),
    Measure("ask", "first_cpu_s", "one question, fresh home, CPU"),
    Measure("ask", "later_wall_s", "one question, used home, wall"),
    Measure("ask", "later_cpu_s", "one question, used home, CPU"),
)
GATEWAY = (
    Measure("gateway", "ready_s", "gateway, time to ready"),
    Measure("gateway", "ready_cpu_s", "gateway, CPU to ready"),
    Measure("gateway", "idle_mb", "gateway, memory at rest", "MB"),
    Measure("memory", "after_mb", "gateway, memory after 200 sessions", "MB"),
    Measure("prompt", "tokens", "fixed prompt of a fresh chat", "tokens"),
)
FLOOR = (  # of our language with TLS, SQLite and an HTTP parser: no code of ours
    Measure("gateway", "floor_s", "bare Python with the same libraries, CPU"),
    Measure("gateway", "floor_mb", "bare Python with the same libraries, memory", "MB"),
)
PLAIN = tuple(_load("plain", "plain"))
TOOL = tuple(_load("tool", "with a command"))
HISTORY = tuple(
    Measure("history", f"{kind}{count}_s", f"a turn behind {count:,} messages, {words}")
    for kind, words in (("wall", "wall"), ("cpu", "CPU"))
    for count in (10, 200, 1000)
)
SECTIONS: Mapping[str, Sequence[Measure]] = {
    "Install": INSTALL,
    "Start": START,
    "Gateway": GATEWAY,
    "Turns, plain": PLAIN,
    "Turns with one command": TOOL,
    "Long conversations": HISTORY,
}


def figure(results: Json, measure: Measure, program: str) -> Figure | None:
    row = results.get("rows", {}).get(measure.row, {})
    values = row.get("figures", {}).get(program, {}).get(measure.key)
    if not values:
        return None
    return Figure(statistics.median(values), min(values), max(values), len(values))


def programs(results: Json) -> list[str]:
    """Those that were measured, ours first."""
    return [name for name in ORDER if name in results.get("programs", {})]


def ahead(ours: Figure | None, theirs: Figure | None, measure: Measure) -> float | None:
    """How many times better ours is; below 1, ours is behind."""
    if ours is None or theirs is None or not ours.median or not theirs.median:
        return None
    times = theirs.median / ours.median
    return 1 / times if measure.more else times


def fates_of(results: Json, program: str) -> Mapping[str, Sequence[Json]]:
    """What became of its turns, by the instant of the kill; each was tried several times."""
    fates: dict[str, list[Json]] = {}
    for fate in results.get("rows", {}).get("crash", {}).get("fates", {}).get(program, []):
        fates.setdefault(fate["instant"], []).append(fate)
    return fates


def faultless(trials: Sequence[Json]) -> int:
    return sum(bool(fate["faultless"]) for fate in trials)


def worst(trials: Sequence[Json]) -> Json:
    """One that went wrong, if any did."""
    return min(trials, key=lambda fate: (fate["faultless"], not fate["reached"]))


def times(value: float) -> str:
    digits = 0 if value >= 9.5 else 1 if value >= 0.995 else 2
    return f"{value:.{digits}f}{TIMES}"


def told(value: float, unit: Unit) -> str:
    """With three digits that count, in the size of unit that people read."""
    match unit:
        case "s" if value < 1.0:
            return f"{_short(value * 1000)} ms"
        case "s":
            return f"{_short(value)} s"
        case "MB":
            return f"{_short(value)} MB"
        case "/s":
            return f"{_short(value)}/s"
        case _:
            return f"{value:,.0f}"


def _short(value: float) -> str:
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:,.{digits}f}"
