"""A conversation as text: who said what, and each tool call with its outcome and result."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from hermes.cli.output.times import iso, stamp
from hermes.core.ids import CallId
from hermes.core.messages import Call, Line, Outcome
from hermes.views.call_line import compact, cut

RESULT_LINES, RESULT_CHARS = 3, 160
INDENT = "  "


def readable(lines: Sequence[Line], *, now: float, full: bool) -> Iterator[str]:
    """Yield the text for people: one block per speaker, results shortened unless `full`."""
    results = {line.call: line for line in lines if line.role == "tool"}
    for speaker, said in groupby((x for x in lines if x.role != "tool"), _speaker):
        block = list(said)
        yield f"{speaker} · {stamp(block[0].at, now)}"
        for line in block:
            yield from (f"{INDENT}{row}" for row in line.text.splitlines())
            yield from (f"{INDENT}[{media.name or media.media_type}]" for media in line.media)
            for call in line.calls:
                yield from _call(call, results, full=full)
        yield ""


def markdown(title: str, lines: Sequence[Line]) -> Iterator[str]:
    """Yield Markdown for a file: headings, and results in fences that no result can close."""
    results = {line.call: line for line in lines if line.role == "tool"}
    yield f"# {title}"
    for line in (line for line in lines if line.role != "tool"):
        yield f"\n## {_speaker(line)}, {iso(line.at)}\n"
        if line.text.strip():
            yield line.text
        for media in line.media:
            yield f"\n*{media.name or media.media_type}*"
        for call in line.calls:
            result = results.get(call.id)
            yield f"\n**{call.tool}** `{call.arguments}`: {_outcome(result)}\n"
            if result is not None and result.text.strip():
                fence = _fence(result.text)
                yield f"{fence}\n{result.text}\n{fence}"


def row(line: Line) -> Mapping[str, object]:
    """Return a row for programs: as stored, with its time as ISO text, without empty fields."""
    plain: dict[str, object] = msgspec.to_builtins(line)
    return {**plain, "at": iso(line.at)}


def _call(call: Call, results: Mapping[CallId, Line], *, full: bool) -> Iterator[str]:
    result = results.get(call.id)
    yield f"{INDENT}→ {compact(call)}: {_outcome(result)}"
    rows = result.text.rstrip().splitlines() if result is not None else []
    if full:
        yield from (f"{INDENT * 2}{each}" for each in rows)
        return
    yield from (f"{INDENT * 2}{cut(each, RESULT_CHARS)}" for each in rows[:RESULT_LINES])
    if len(rows) > RESULT_LINES:
        yield f"{INDENT * 2}… {len(rows) - RESULT_LINES} more lines (--full)"


def _outcome(result: Line | None) -> str:
    return (result.outcome or Outcome.OK).value if result is not None else "no result"


def _speaker(line: Line) -> str:
    if line.role == "assistant":
        return f"hermes ({line.model})" if line.model else "hermes"
    return "you" if line.sender in ("", "owner") else line.sender


def _fence(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return fence
