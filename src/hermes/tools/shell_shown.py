"""A command as a person must see it before saying yes: all of it, and nothing but it."""

import unicodedata
from collections.abc import Sequence

from msgspec import Struct

from hermes.tools.shell_syntax import is_deceptive
from hermes.tools.shell_verdict import Judgement
from hermes.tools.shell_words import HOLE, Call

HEAD_CHARS, TAIL_CHARS = 1_500, 500
PROGRAMS_MAX = 30


class Shown(Struct, frozen=True, kw_only=True):
    """`left_out` counts the characters that are not in `text`; 0: it is whole."""

    text: str
    programs: tuple[str, ...]
    left_out: int = 0


def shown(command: str, judged: Judgement) -> Shown:
    if len(command) <= HEAD_CHARS + TAIL_CHARS:
        return Shown(text=honest(command), programs=programs_of(judged.calls))
    left_out = len(command) - HEAD_CHARS - TAIL_CHARS
    head, tail = honest(command[:HEAD_CHARS]), honest(command[-TAIL_CHARS:])
    text = f"{head}\n[… {left_out:,} characters are not shown …]\n{tail}"
    return Shown(text=text, programs=programs_of(judged.calls), left_out=left_out)


def honest(text: str) -> str:
    """What does not show, or turns what does, is spelled out. A line break stays one."""
    return "".join(
        char if char == "\n" or (char.isprintable() and not is_deceptive(char)) else _spelled(char)
        for char in text
    )


def programs_of(calls: Sequence[Call]) -> tuple[str, ...]:
    names = [call.name or _odd(call) for call in calls]
    return tuple(dict.fromkeys(names))[:PROGRAMS_MAX]


def _spelled(char: str) -> str:
    code = ord(char)
    if code < 0x80:
        return char.encode("unicode_escape").decode()
    name = unicodedata.name(char, "NO NAME")
    return f"⟨U+{code:04X} {name}⟩"


def _odd(call: Call) -> str:
    first = call.words[0].shape.replace(HOLE, "…") if call.words else ""
    return f"(known only when it runs) {honest(first)[:40]}".rstrip()
