"""Render the index of skills for the system prompt: one line each, within a token budget."""

from collections.abc import Sequence

from hermes.core.budget import tokens_of
from hermes.core.ports import PromptPart
from hermes.ports.skills import SkillRow

PART = "skills"
TOKENS_MAX = 1_200
LINE_CHARS_MAX = 100
HEAD = """\
Skills are instructions that you read when a task calls for them: skill_view NAME, before you begin.
When a long task worked and will come again, or a skill that you used was wrong, propose it with
skill_manage."""
MORE = "({} more: skills_list.)"


def index_part(rows: Sequence[SkillRow], *, tokens_max: int = TOKENS_MAX) -> PromptPart:
    """Return the prompt part; deterministic. If the rows exceed the budget, keep the most used."""
    usable = [row for row in rows if row.state == "on"]
    if not usable:
        return PromptPart(PART, "")
    chosen: list[SkillRow] = []
    room = tokens_max - tokens_of(f"{HEAD}\n{MORE.format(len(usable))}\n")
    for row in sorted(usable, key=lambda row: (-row.uses, row.name)):
        room -= tokens_of(f"{_line(row)}\n") + 1
        if room < 0:
            break
        chosen.append(row)
    lines = [HEAD, *(_line(row) for row in sorted(chosen, key=lambda row: row.name))]
    if len(chosen) < len(usable):
        lines.append(MORE.format(len(usable) - len(chosen)))
    return PromptPart(PART, "\n".join(lines) + "\n")


def _line(row: SkillRow) -> str:
    return f"- {row.name}: {one_line(row.description)}"


def one_line(description: str, chars_max: int = LINE_CHARS_MAX) -> str:
    """Return the first sentence; cut a long one at a word."""
    first = description.split(". ", 1)[0].rstrip(".")
    if len(first) <= chars_max:
        return first
    return first[: chars_max - 1].rsplit(" ", 1)[0].rstrip(",;: ") + "…"
