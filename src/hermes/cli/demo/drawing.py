"""Draw the demo on a terminal: events as they happen, then a timeline and the result. Pure."""

from collections.abc import Iterator, Sequence

from hermes.cli.demo.story import LANES, Beat, DemoSpan, Lane, Story

NAME = 9
TEXT_WIDTH = 56
RED, GREEN, CYAN, DIM, BOLD, PLAIN = "31", "32", "36", "2", "1", "0"
COLOURS: dict[Lane, str] = {
    "person": "35",
    "gateway": "34",
    "model": "33",
    "command": "36",
    "journal": "32",
}


class Ink:
    """How the output may look: with or without colours and Unicode."""

    def __init__(self, *, colours: bool, fancy: bool) -> None:
        self.colours = colours
        self.fancy = fancy

    def painted(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours and text.strip() else text

    def plain(self, text: str) -> str:
        return text if self.fancy else text.translate(_ASCII).encode("ascii", "replace").decode()

    def pick(self, fancy: str, simple: str) -> str:
        return fancy if self.fancy else simple


_ASCII = str.maketrans({"“": '"', "”": '"', "…": "..."})


def line(beat: Beat, began: float, ink: Ink) -> str:
    """Return one event as a line."""
    at = ink.painted(f"{max(beat.at - began, 0.0):6.2f} s", DIM)
    text = ink.plain(beat.text)
    kept = _journal_note(beat, ink)
    pad = " " * max(TEXT_WIDTH - len(text), 1) if kept else ""
    name = ink.painted(f"{beat.lane:<{NAME}}", COLOURS[beat.lane])
    if beat.fatal:
        name, text = ink.painted(f"{beat.lane:<{NAME}}", f"{BOLD};{RED}"), ink.painted(text, RED)
    return f"{at}  {name} {text}{pad}{kept}"


def _journal_note(beat: Beat, ink: Ink) -> str:
    if beat.stored:
        return ink.painted(f"{ink.pick('●', '*')} {beat.stored}", COLOURS["journal"])
    if beat.reused:
        return ink.painted(f"{ink.pick('↻', '<')} {beat.reused}", f"{BOLD};{COLOURS['journal']}")
    return ""


def timeline(story: Story, width: int, ink: Ink) -> Iterator[str]:
    """Yield one row for each lane, and the seconds below; the time without a gateway is dotted."""
    cells = max(width - NAME - 2, 30)
    scale = (cells - 1) / story.seconds
    for lane in LANES:
        row = _row(story, lane, cells, scale, ink)
        yield f"{ink.painted(f'{lane:<{NAME}}', COLOURS[lane])} {''.join(row)}".rstrip()
    yield " " * (NAME + 1) + ink.painted(_axis(story.seconds, cells, scale, ink), DIM)


def _row(story: Story, lane: Lane, cells: int, scale: float, ink: Ink) -> list[str]:
    row = [" "] * cells
    start, end = round(story.killed * scale), round(story.back * scale)
    for at in range(start, end):
        row[at] = ink.painted(ink.pick("┊", ":") if at in (start, end - 1) else " ", f"{DIM};{RED}")
    if lane == "gateway":
        for at in range(start + 1, end):
            row[at] = ink.painted(ink.pick("╌", "."), f"{DIM};{RED}")
    for span in story.spans:
        if span.lane == lane:
            _lay(row, span, scale, ink)
    marks = {"command": story.pages, "journal": story.commits}.get(lane, ())
    sign = ink.pick("◆", "o") if lane == "command" else ink.pick("●", "*")
    for moment in marks:
        row[min(round(moment * scale), cells - 1)] = ink.painted(sign, COLOURS[lane])
    if lane == "gateway":
        row[start] = ink.painted(ink.pick("✖", "X"), f"{BOLD};{RED}")
    return row


def _lay(row: list[str], span: DemoSpan, scale: float, ink: Ink) -> None:
    body = {"gateway": ("█", "#"), "model": ("▒", "="), "command": ("━", "-"), "person": ("─", "-")}
    sign = ink.pick(*body[span.lane])
    start, end = round(span.start * scale), min(round(span.end * scale), len(row) - 1)
    for at in range(start, max(end, start + 1)):
        row[at] = ink.painted(sign, COLOURS[span.lane])
    if span.lane == "person":
        row[start] = ink.painted(ink.pick("?", "?"), COLOURS["person"])
        row[end] = ink.painted(ink.pick("✔", "!"), COLOURS["person"])


def _axis(seconds: float, cells: int, scale: float, ink: Ink) -> str:
    row = [ink.pick("·", ".")] * cells
    step = next(each for each in (1, 2, 5, 10) if each * scale >= 6 or each == 10)
    for second in range(0, int(seconds) + 1, step):
        text = f"{second} s"
        at = min(round(second * scale), cells - len(text))
        row[at : at + len(text)] = text
    return "".join(row)


def findings(story: Story, ink: Ink) -> Sequence[str]:
    lines = []
    for finding in story.findings:
        sign = ink.pick("✔", "ok") if finding.holds else ink.pick("✖", "NO")
        painted = ink.painted(sign, GREEN if finding.holds else f"{BOLD};{RED}")
        lines.append(f"{painted} {finding.what:<12} {finding.how}")
    return lines
