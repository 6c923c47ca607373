"""The rows as pictures: bars on a logarithmic scale, and the crash matrix as a grid. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bench.matrix import INSTANTS
from bench.measures import (
    TIMES,
    Json,
    Measure,
    ahead,
    fates_of,
    faultless,
    figure,
    programs,
    times,
    told,
    worst,
)
from hermes.views.chart import ChartArea, ChartLabels, Shape, Sheet, Tone

WIDTH, EDGE, LEFT, RIGHT = 960, 32, 300, 820
TOP, BAR, GAP, SMALL = 126, 17, 16, 11
SCALE = (
    "Shorter is better, on a logarithmic scale. Behind each value: how many times better ours is."
)
COUNTS = "How often the person was answered, how often the effect happened, what else went wrong."
TONES: Sequence[Tone] = ("fresh", "output", "cached", "faint")
CELL, CELL_TOP, INSTANT_WIDTH = 34, 100, 286


def bars(results: Json, title: str, measures: Sequence[Measure]) -> Sheet:
    """A group for each measure. Bars begin at the best of all; ten times as much is one step."""
    names = programs(results)
    shapes: list[Shape] = list(_head(results, title, names))
    groups = [(measure, _values(results, measure, names)) for measure in _apart(measures)]
    groups = [(measure, values) for measure, values in groups if values]
    decades = max((_decades(values) for _, values in groups), default=1.0)
    bottom = TOP + sum(_height(values) for _, values in groups)
    shapes += _scale(decades, bottom)
    y = float(TOP)
    for measure, values in groups:
        shapes += _group(results, measure, values, y, decades, names)
        y += _height(values)
    return Sheet(WIDTH, int(bottom) + 16, title, tuple(shapes))


def _apart(measures: Sequence[Measure]) -> Sequence[Measure]:
    """Without the words that all end with: the title says those, and there is little room."""
    ends = {measure.label.rpartition(", ")[2] for measure in measures}
    if len(ends) > 1:
        return measures
    return [replace(one, label=one.label.rpartition(", ")[0]) for one in measures]


def _values(results: Json, measure: Measure, names: Sequence[str]) -> dict[str, float]:
    """As cost: what is better when there is more of it, is turned round."""
    found = {name: figure(results, measure, name) for name in names}
    costs = {name: one.median for name, one in found.items() if one is not None and one.median}
    return {name: 1 / cost if measure.more else cost for name, cost in costs.items()}


def _decades(values: Mapping[str, float]) -> float:
    return max(math.log10(max(values.values()) / min(values.values())), 0.5)


def _height(values: Mapping[str, float]) -> int:
    return BAR * len(values) + GAP


def _head(results: Json, title: str, names: Sequence[str]) -> Iterator[Shape]:
    yield ChartLabels(EDGE, 34, title, 20, bold=True)
    yield ChartLabels(
        EDGE,
        60,
        SCALE,
        12,
        "faint",
    )
    x = float(EDGE)
    for name in names:
        label = _label(results, name)
        yield ChartArea(x, 78, 11, 11, _tone(name, names))
        yield ChartLabels(x + 17, 83.5, label, SMALL + 1, "faint")
        x += 17 + 7.2 * len(label) + 26


def _label(results: Json, name: str) -> str:
    found = results["programs"][name]
    return f"{found['label']} {found['version']}".strip()


def _tone(name: str, names: Sequence[str]) -> Tone:
    return TONES[names.index(name) % len(TONES)]


def _scale(decades: float, bottom: float) -> Iterator[Shape]:
    width = RIGHT - LEFT
    for step in range(int(decades) + 1):
        x = LEFT + width * step / decades
        yield ChartArea(x, TOP - 6, 1, bottom - TOP, "line")
        mark = f"{10**step}{TIMES}" if step else "best"
        yield ChartLabels(x, TOP - 15, mark, SMALL, "faint", "middle")


def _group(
    results: Json,
    measure: Measure,
    values: Mapping[str, float],
    y: float,
    decades: float,
    names: Sequence[str],
) -> Iterator[Shape]:
    best = min(values.values())
    middle = y + BAR * len(values) / 2 - 2
    yield ChartLabels(LEFT - 14, middle, measure.label.replace("`", ""), 13, anchor="end")
    ours = figure(results, measure, names[0])
    for number, (name, value) in enumerate(values.items()):
        found = figure(results, measure, name)
        assert found is not None
        at = y + BAR * number
        length = max((RIGHT - LEFT) * math.log10(value / best) / decades, 2.0)
        text = told(found.median, measure.unit)
        ratio = ahead(ours, found, measure) if name != names[0] else None
        about = f"{_label(results, name)}: {text}"
        yield ChartArea(LEFT, at, length, BAR - 4, _tone(name, names), about)
        said = f"{text} · {times(ratio)}" if ratio is not None else text
        yield ChartLabels(
            LEFT + length + 8, at + BAR / 2 - 2, said, SMALL, "ink", bold=name == names[0]
        )


def grid(results: Json) -> Sheet:
    """The crash matrix: a row for each instant, a column for each program."""
    fates = {name: fates_of(results, name) for name in programs(results)}
    names = [name for name, found in fates.items() if found]
    title = "SIGKILL at ten instants of a turn"
    width = (WIDTH - EDGE - INSTANT_WIDTH - EDGE) / max(len(names), 1)
    shapes: list[Shape] = [
        ChartLabels(EDGE, 34, title, 20, bold=True),
        ChartLabels(
            EDGE,
            60,
            COUNTS,
            12,
            "faint",
        ),
    ]
    for column, name in enumerate(names):
        x = EDGE + INSTANT_WIDTH + width * column
        good = sum(faultless(trials) == len(trials) for trials in fates[name].values())
        label = f"{results['programs'][name]['label']}: {good} of {len(fates[name])}"
        shapes.append(
            ChartLabels(x + width / 2, CELL_TOP - 14, label, 12, anchor="middle", bold=True)
        )
    for row, (instant, words) in enumerate(INSTANTS.items()):
        y = CELL_TOP + CELL * row
        shapes.append(ChartLabels(EDGE, y + CELL / 2 - 2, words, 11))
        for column, name in enumerate(names):
            if (found := fates[name].get(instant)) is not None:
                shapes += _cell(found, EDGE + INSTANT_WIDTH + width * column, y, width)
    return Sheet(WIDTH, CELL_TOP + CELL * len(INSTANTS) + 20, title, tuple(shapes))


def _cell(trials: Sequence[Json], x: float, y: float, width: float) -> Iterator[Shape]:
    fate, good = worst(trials), faultless(trials)
    tone: Tone = "cached" if fate["faultless"] else "output" if fate["reached"] else "line"
    yield ChartArea(x + 2, y + 1, width - 4, CELL - 6, tone, fate["why"])
    counts = f"{fate['answers']} · {fate['effects']}" if fate["reached"] else "not measured"
    wrong = _wrong(fate)
    middle = y + CELL / 2 - 2
    text = f"{counts}, {wrong}" if wrong else counts
    if 0 < good < len(trials):
        text = f"{len(trials) - good} of {len(trials)}: {wrong or counts}"
    yield ChartLabels(x + width / 2, middle, text, SMALL, anchor="middle")


def _wrong(fate: Json) -> str:
    """The worst of it, in a word or two."""
    if not fate["reached"]:
        return ""
    if not fate["answers"]:
        return "never answered"
    if not fate["itself"]:
        return "had to be asked"
    if fate["answers"] > 1:
        return "said twice"
    if fate["effects"] != 1:
        return "done again" if fate["effects"] else "not done"
    return "result lost" if not fate["known"] else "" if fate["valid"] else "history broken"
