"""docs/BENCHMARKS.md and its plots, from results; the words are by hand, in the `.md.in` files."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench import plots
from bench.matrix import INSTANTS
from bench.measures import (
    FLOOR,
    GATEWAY,
    HISTORY,
    INSTALL,
    PLAIN,
    SECTIONS,
    START,
    TOOL,
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
from bench.peers import OURS
from hermes.views.svg import svg

WORDS = Path(__file__).with_name("document.md.in")
FOUND = Path(__file__).with_name("found.md.in")
PICTURES: Mapping[str, tuple[str, Sequence[Measure]]] = {
    "start": ("Install, start and rest", (*INSTALL, *START, *GATEWAY)),
    "plain": ("Plain turns", PLAIN),
    "tool": ("Turns with one command", TOOL),
    "history": ("A turn's cost as a conversation grows", HISTORY),
}


def write(results: Json, out: Path, document: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name, (title, measures) in PICTURES.items():
        picture = svg(plots.bars(results, title, measures))
        (out / f"{name}.svg").write_text(picture, encoding="utf-8")
    (out / "crash.svg").write_text(svg(plots.grid(results)), encoding="utf-8")
    parts = {
        "together": _together(results),
        "machine": _machine(results),
        "found": FOUND.read_text(encoding="utf-8").strip(),
        "floor": " and ".join(_floor(results)),
        "figures": "\n".join(_figures(results)).strip(),
        "matrix": "\n".join(_matrix(results)),
        "trials": _trials(results),
        "problems": "\n".join(_problems(results)),
        "rounds": f"{results['rounds']} rounds, {results['seconds']:g} s for each load",
        "programs": "\n".join(_programs(results)),
    }
    text = WORDS.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    document.write_text(text.replace("\n\n\n\n", "\n\n"), encoding="utf-8")


def _together(results: Json) -> str:
    """Whether the rows were measured in one run; figures of two cannot be compared row by row."""
    runs = {row.get("run", name) for name, row in results.get("rows", {}).items()}
    if len(runs) <= 1:
        return "in one run"
    return f"in {len(runs)} separate runs, programs within a row always in the same one"


def _machine(results: Json) -> str:
    machine = results["machine"]
    before, after = machine["load"]
    parts = (
        f"{results['when']}, {machine['cores']} cores ({machine['processor']})",
        f"{machine['memory_gb']} GB, {machine['system']}, Python {machine['python']}",
        f"load {before} before and {after} after",
    )
    return ", ".join(parts)


def _figures(results: Json) -> Iterator[str]:
    names = programs(results)
    for title, measures in SECTIONS.items():
        yield f"### {title}"
        yield ""
        yield from _heads(results, names, "", "---:")
        for measure in measures:
            cells = " | ".join(_told(results, measure, name, names[0]) for name in names)
            yield f"| {measure.label} | {cells} |"
        yield ""


def _floor(results: Json) -> Iterator[str]:
    for measure in FLOOR:
        found = figure(results, measure, OURS.name)
        yield told(found.median, measure.unit) if found is not None else "what was not measured"


def _heads(results: Json, names: Sequence[str], first: str, line: str) -> Iterator[str]:
    heads = " | ".join(results["programs"][name]["label"] for name in names)
    yield f"| {first} | {heads} |"
    yield f"| --- |{f' {line} |' * len(names)}"


def _told(results: Json, measure: Measure, name: str, first: str) -> str:
    found = figure(results, measure, name)
    if found is None:
        return "not measured"
    text = told(found.median, measure.unit)
    if found.rounds > 1:
        text += f" ({told(found.low, measure.unit)} to {told(found.high, measure.unit)})"
    ratio = None if name == first else ahead(figure(results, measure, first), found, measure)
    if ratio is None:
        return text
    return f"{text}, {times(ratio)}" if ratio >= 1.0 else f"{text}, **{times(ratio)}**"


def _matrix(results: Json) -> Iterator[str]:
    names = [name for name in programs(results) if fates_of(results, name)]
    yield from _heads(results, names, "killed when", "---")
    for instant, words in INSTANTS.items():
        cells = [fates_of(results, name).get(instant) for name in names]
        yield f"| {words} | {' | '.join(_fates(cell) if cell else '' for cell in cells)} |"


def _trials(results: Json) -> str:
    every = [fates_of(results, name).values() for name in programs(results)]
    least = min((len(trials) for fates in every for trials in fates), default=0)
    return "once" if least == 1 else f"{least} times"


def _fates(trials: Sequence[Json]) -> str:
    good, text = faultless(trials), _fate(worst(trials))
    return f"{good} of {len(trials)} faultless, else {text}" if 0 < good < len(trials) else text


def _fate(fate: Json) -> str:
    if not fate["reached"]:
        return f"not measured: {fate['why']}"
    if fate["faultless"]:
        return "faultless"
    marked = f" ({fate['marked']} marked as a possible repeat)" if fate.get("marked") else ""
    said = [f"answers: {fate['answers']}{marked}", f"effects: {fate['effects']}"]
    said += [] if fate["itself"] else ["not by itself"]
    said += [] if fate["known"] else ["result lost"]
    said += [] if fate["valid"] else [fate["why"]]
    return ", ".join(said)


def _problems(results: Json) -> Iterator[str]:
    problems = [
        f"- {results['programs'].get(name, {}).get('label', name)}, {row}: {why}"
        for row, found in results.get("rows", {}).items()
        for name, why in found.get("problems", {}).items()
    ]
    if problems:
        yield "### What could not be measured"
        yield ""
        yield from problems


def _programs(results: Json) -> Iterator[str]:
    yield "| program | version | driven by | set up, in addition to the model |"
    yield "| --- | --- | --- | --- |"
    for name in programs(results):
        one = results["programs"][name]
        yield f"| {one['label']} | {one['version']} | {one['how']} | {one['set']} |"
