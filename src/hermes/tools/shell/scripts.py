"""Decide which scripts of sed, awk and jq only turn text into text."""

import re

from hermes.lazy import LazyPattern

SCRIPT_CHARS_MAX = 2_000

_SED_ADDRESS = LazyPattern(
    r"(?:\d+|\$|/(?:[^/\\\n\[]|\\[^\n])*/I?)(?:,(?:\+?\d+|\$|/(?:[^/\\\n\[]|\\[^\n])*/I?))?!?"
)
# An address, and a substitution whose pattern repeats nothing.
_SED_NAMED = LazyPattern(
    r"(?:\d+(?:,(?:\d+|\$))?|\$|/[\w .-]+/)?\s*s([/|#,:])((?:(?!\1)(?:[^\\*+{\n]|\\[^\n{+?]))+)\1.*"
)
_SED_LETTERS = LazyPattern(r"\w")
_SED_PLAIN = frozenset("pdDPnNgGhHxq=")
_SED_FLAGS = LazyPattern(r"[gpIi0-9]*")
_AWK_DANGER = LazyPattern(
    r"[|>@]|\b(?:system|getline|close|fflush|ENVIRON|ARGV|ARGC|PROCINFO|include|load)\b"
)
# A condition without texts, patterns and calls: there > and || only compare.
_AWK_CONDITION = LazyPattern(r"[\w$ ().<>=!&|+*%\[\],-]*")
_AWK_PIPE = LazyPattern(r"(?<![|])[|](?![|])")
_AWK_PLAIN = LazyPattern(r"[\x20-\x7e\n\t]*")
_JQ_DANGER = LazyPattern(
    r"\b(?:import|include|env|input_filename|stderr|modulemeta|halt_error|repeat|until|while)\b|\$(?:ENV|__)"
)


def sed_only_edits_text(script: str) -> bool:
    """Addresses, and commands that print, delete, keep or substitute: it opens and runs nothing."""
    if len(script) > SCRIPT_CHARS_MAX:
        return False
    rest = script.strip()
    while rest:
        if address := _SED_ADDRESS.match(rest):
            rest = rest[address.end() :].lstrip(" ")
        if rest.startswith("s"):
            end = _sed_substitution(rest)
        else:
            end = 1 if rest[:1] in _SED_PLAIN else 0
        if not end:
            return False
        rest = rest[end:].lstrip(" ")
        if rest and rest[0] not in ";\n":
            return False
        rest = rest.lstrip("; \n")
    return True


def sed_only_substitutes(script: str) -> bool:
    """For a change in place: only `s`, and of something that it spells out. `s/.*//` and `d` would
    lose what is there."""
    for part in re.split(r"[;\n]", script):
        found = _SED_NAMED.fullmatch(part.strip())
        if part.strip() and (found is None or not _SED_LETTERS.search(found[2])):
            return False
    return sed_only_edits_text(script)


def _sed_substitution(text: str) -> int:
    """Where it ends; 0 when it is not plain."""
    mark = text[1:2]
    if not mark or mark.isalnum() or mark in "\\\n \t;":
        return 0
    at, seen = 2, 1
    while at < len(text) and seen < 3:
        if text[at] == "\n" or (text[at] == "[" and _holds(text, at, mark)):
            return 0
        if text[at] == "\\":
            at += 1
        elif text[at] == mark:
            seen += 1
        at += 1
    if seen < 3:
        return 0
    flags = _SED_FLAGS.match(text, at)
    return flags.end() if flags else at


def _holds(text: str, at: int, mark: str) -> bool:
    """Is the mark within this bracket expression, where it does not end the pattern? Or no end?"""
    end = at + 1 + text.startswith("^", at + 1)
    end += text.startswith("]", end)
    while end < len(text) and text[end] != "]":
        if text.startswith(("[:", "[.", "[="), end):
            closing = text.find(text[end + 1] + "]", end + 2)
            end = closing + 1 if closing > 0 else len(text)
        end += 1
    return end >= len(text) or mark in text[at:end]


def awk_only_computes(program: str) -> bool:
    """No pipe, no redirection, no way to another program, file or the environment."""
    plain = len(program) <= SCRIPT_CHARS_MAX and _AWK_PLAIN.fullmatch(program) is not None
    condition, brace, rest = program.partition("{")
    if _AWK_CONDITION.fullmatch(condition) and not _AWK_PIPE.search(condition):
        program = re.sub(r"[>|]", " ", condition) + brace + rest
    return plain and _AWK_DANGER.search(program) is None


def jq_only_computes(program: str) -> bool:
    return len(program) <= SCRIPT_CHARS_MAX and _JQ_DANGER.search(program) is None
