"""The table of the README, from results: the few figures that a newcomer looks at first."""

from collections.abc import Iterator, Sequence

from bench.measures import (
    SECTIONS,
    Json,
    Unit,
    ahead,
    fates_of,
    faultless,
    figure,
    programs,
    times,
)

BEGIN, END = "<!-- made by ./hermes-bench -->\n\n", "\n<!-- until here -->\n"
CHOSEN = {
    ("install", "mb"): "install, on disk",
    ("version", "cpu_s"): "`--version`, CPU",
    ("ask", "later_wall_s"): "one question",
    ("gateway", "ready_s"): "gateway ready",
    ("gateway", "idle_mb"): "gateway at rest",
    ("memory", "after_mb"): "memory after 200 sessions",
    ("turns", "plain64_turns_s"): "turns a second, 64 sessions",
    ("turns", "tool64_turns_s"): "the same with a command each",
    ("prompt", "tokens"): "tokens of the fixed prompt",
}


def put_into(page: str, results: Json) -> str:
    """The page with the table between its marks."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{''.join(table(results))}{END}{rest.partition(END)[2]}"


def table(results: Json) -> Iterator[str]:
    names = programs(results)
    about = [results["programs"][name] for name in names]
    heads = [about[0]["label"]]
    heads += [f"{one['label']} {one['version'].removesuffix('.0')}" for one in about[1:]]
    yield f"| | {' | '.join(heads)} |\n| --- |{' ---: |' * len(names)}\n"
    good = [sum(faultless(each) == len(each) for each in _kills(results, name)) for name in names]
    told = [f"**{good[0]} of {len(_kills(results, names[0]))}**", *map(str, good[1:])]
    yield f"| killed at ten instants of a turn: faultless | {' | '.join(told)} |\n"
    measures = {(one.row, one.key): one for some in SECTIONS.values() for one in some}
    for place, label in CHOSEN.items():
        measure = measures[place]
        ours = figure(results, measure, names[0])
        cells = []
        for name in names:
            found = figure(results, measure, name)
            text = "not measured" if found is None else _short(found.median, measure.unit)
            ratio = ahead(ours, found, measure)
            beside = f"{text} ({times(ratio)})" if ratio is not None else text
            cells.append(f"**{text}**" if name == names[0] else beside)
        yield f"| {label} | {' | '.join(cells)} |\n"


def _kills(results: Json, name: str) -> Sequence[Sequence[Json]]:
    return list(fates_of(results, name).values())


def _short(value: float, unit: Unit) -> str:
    match unit:
        case "s" if value < 1.0:
            return f"{value * 1000:.0f} ms"
        case "s":
            return f"{value:.1f} s"
        case "MB":
            return f"{value:,.0f} MB"
        case _:
            return f"{value:,.0f}" if value >= 9.5 else f"{value:.1f}"
