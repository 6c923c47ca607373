"""Print skills at a terminal, with colours if it has any."""

import shutil
from collections.abc import Sequence

from hermes.cli.output.console import Console
from hermes.ports.skills import Candidate, ScanFinding, SkillFile, SkillShown
from hermes.text.visible_text import visible

RED, GREEN, YELLOW, CYAN = "31", "32", "33", "36"
SOURCES = {"person": "yours", "installed": "installed", "agent": "agent", "builtin": "built in"}
DIGEST_CHARS = 12
FILES_SHOWN_MAX = 40
LABEL_CHARS = 10
STATES = {"ok": GREEN, "look": YELLOW, "tampered": RED, "broken": RED}
STATE_CHARS = 8
GAP, LAST_CHARS_MIN = 2, 20


def table(console: Console, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table. On a terminal the last column is cut to fit, so that the others stay
    complete."""
    if console.stdout.isatty():
        lines = [headings, *rows]
        taken = sum(GAP + max(len(line[n]) for line in lines) for n in range(len(headings) - 1))
        room = max(LAST_CHARS_MIN, shutil.get_terminal_size().columns - taken - 1)
        rows = [[*row[:-1], _cut(row[-1], room)] for row in rows]
    console.table(headings, rows)


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[: chars - 1].rstrip()}…"


def print_skill(console: Console, shown: SkillShown, source: str) -> None:
    console.head(f"{shown.row.name} ({source})")
    _fields(
        console,
        {
            "For": shown.row.description,
            "License": shown.license,
            "Needs": shown.compatibility,
            "Tools": ", ".join(shown.allowed_tools),
            "Folder": shown.folder,
            "Digest": shown.row.digest,
            **{f"{key}": value for key, value in shown.metadata.items()},
        },
    )
    _files(console, shown.files)
    print_findings(console, shown.findings)
    console.say("")
    console.say(shown.body)


def print_candidate(console: Console, candidate: Candidate) -> None:
    news = "An update of" if candidate.before else "A new skill:"
    console.head(f"{news} {candidate.name}")
    _fields(
        console,
        {
            "For": candidate.description,
            "From": candidate.origin,
            "License": candidate.license or "none given",
            "Needs": candidate.compatibility,
            "Tools": ", ".join(candidate.allowed_tools) or "none declared",
            "Digest": candidate.digest,
            "Before": candidate.before,
            "Left out": ", ".join(candidate.left_out),
        },
    )
    _files(console, candidate.files)
    match candidate.hides:
        case "person":
            console.say("Your own skill of that name comes first; this one will not be seen.")
        case "agent" | "builtin":
            console.say("It comes before another skill of that name, which will not be seen.")
        case _:
            pass
    print_findings(console, candidate.findings)
    if candidate.before:
        print_diff(console, candidate.diff)


def print_findings(console: Console, findings: Sequence[ScanFinding]) -> None:
    """Print findings: `!` for what to understand before agreeing, `·` for what is good to know."""
    if not findings:
        return
    console.say("Findings (advice: a clean scan proves nothing):")
    for finding in findings:
        sign = painted(console, "!", RED) if finding.grave else "·"
        where = f"{finding.file}:{finding.line}" if finding.line else finding.file
        console.stdout.write(
            f"  {sign} {finding.rule}  {visible(where)}  {visible(finding.text)}\n"
        )


def print_diff(console: Console, diff: str) -> None:
    if not diff:
        console.tell("Nothing differs")
        return
    for line in diff.splitlines():
        colour = ""
        if line.startswith(("+++", "---")):
            colour = "1"
        elif line.startswith("@@"):
            colour = CYAN
        elif line.startswith(("+", "-")):
            colour = GREEN if line.startswith("+") else RED
        console.stdout.write(f"{painted(console, visible(line), colour)}\n")


def stated(console: Console, state: str) -> str:
    return painted(console, state.ljust(STATE_CHARS), STATES.get(state, ""))


def painted(console: Console, text: str, colour: str) -> str:
    if not colour or not console.colours(console.stdout):
        return text
    return f"\x1b[{colour}m{text}\x1b[0m"


def _fields(console: Console, fields: dict[str, str]) -> None:
    for label, value in fields.items():
        if value:
            console.say(f"  {label.ljust(LABEL_CHARS)}{visible(' '.join(value.split()))}")


def _files(console: Console, files: Sequence[SkillFile]) -> None:
    total = sum(file.size for file in files)
    console.say(f"  {'Files'.ljust(LABEL_CHARS)}{len(files)} with {total:,} bytes")
    for file in files[:FILES_SHOWN_MAX]:
        console.say(f"  {' ' * LABEL_CHARS}{file.size:>8,}  {visible(file.path)}")
    if len(files) > FILES_SHOWN_MAX:
        console.say(f"  {' ' * LABEL_CHARS}… and {len(files) - FILES_SHOWN_MAX} more")
