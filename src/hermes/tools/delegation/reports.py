"""What a model reads of its subagents' work: one report, or a list of them in their order."""

import msgspec

from hermes.core.child_sessions import MARK, STATUS, PartResult
from hermes.core.messages import Usage
from hermes.tools.output import Clipped, clipped, joined

SUMMARY_CHARS = 24_000
SHARES = 4  # a batch as a whole has room for so many long reports


def status_of(part: PartResult) -> str:
    return STATUS[part.settled.outcome]


def composed(parts: tuple[PartResult, ...], chars_max: int = SUMMARY_CHARS) -> str:
    """The text of the call: the child's own words, or an entry for each task."""
    if len(parts) == 1 and not parts[0].settled.part:
        return single(parts[0], chars_max)
    share = min(chars_max, SHARES * chars_max // len(parts))
    entries = [entry(part, share) for part in parts]
    return msgspec.json.format(
        msgspec.json.encode({"note": MARK, "results": entries}), indent=1
    ).decode()


def single(part: PartResult, chars_max: int) -> str:
    report = part.settled.report
    spent = f", {_tokens(report.usage):,} tokens" if report is not None else ""
    model = f", {report.model}" if report is not None and report.model else ""
    head = f"[Subagent {status_of(part)}{model}{spent}. {MARK}]"
    return f"{head}\n{shortened(part, chars_max)}"


def entry(part: PartResult, chars_max: int) -> dict[str, object]:
    report = part.settled.report
    return {
        "task": part.settled.part,
        "status": status_of(part),
        "summary": shortened(part, chars_max),
        "model": report.model if report is not None else "",
        "tokens": _tokens(report.usage) if report is not None else 0,
        "cost": report.usage.cost if report is not None else None,
        "turn": report.turn if report is not None else "",
    }


def shortened(part: PartResult, chars_max: int) -> str:
    """Head and tail of a long text, and where all of it is."""
    report = part.settled.report
    cut: Clipped = clipped(part.text, chars_max // 3, chars_max - chars_max // 3)
    whole = f"; read_file {report.whole} has all of it" if report and report.whole else ""
    return joined(cut, left_out=f"{cut.left_out:,} bytes are left out{whole}")


def _tokens(usage: Usage) -> int:
    return usage.input + usage.output
