"""Repair a model's tool call where its meaning is certain; else say what is wrong with it.

Nothing is guessed: a truncated call, or one that fits two tools, is reported to the model.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final

import msgspec

from hermes.core.ports import RawCall, ToolSpec
from hermes.providers.aliases import renamed, squeeze, tool_of
from hermes.text.similar import likely

MENDED_CHARS_MAX: Final = 500_000  # mending looks at each character; what is longer is refused
NAME_CHARS_MAX: Final = 128
EXCERPT_CHARS_MAX: Final = 80
VIEW: Final = "skill_view"
WRAPPINGS_MAX: Final = 3  # JSON in a string in a fence …

_FENCE: Final = "```"
_WORD: Final = re.compile(r"[A-Za-z]{1,9}")
_TAIL: Final = re.compile(r"\A(?:[\s}\])>;,.`]{0,40}|\s{0,9}</[\w:|-]{1,40}>\s{0,9})\Z")
_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_ESCAPES: Final = frozenset('"\\/bfnrtu')


def repaired(
    raw: RawCall, known: Mapping[str, ToolSpec], skills: Callable[[], Collection[str]] = tuple
) -> tuple[str, str, str]:
    """Return (tool, arguments, fault). Arguments are always the text of a JSON object; the fault is
    empty when the call can be made. A valid call is left unchanged. `skills` are names that models
    mistake for tools."""
    arguments, fault = _arguments(raw.arguments)
    tool = tool_of(raw.tool, known)
    if tool is None:
        why = _is_skill(raw.tool, known, skills) or _unknown(raw.tool, known)
        return _storable(raw.tool[:NAME_CHARS_MAX]), arguments, why
    return tool, renamed(raw.tool, known[tool], arguments), fault


def _is_skill(
    name: str, known: Mapping[str, ToolSpec], skills: Callable[[], Collection[str]]
) -> str:
    if VIEW not in known:
        return ""
    plain = squeeze(re.split(r"[.:/]", name.strip())[-1])
    fitting = [skill for skill in skills() if squeeze(skill) == plain]
    if len(fitting) != 1:
        return ""
    arguments = msgspec.json.encode({"name": fitting[0]}).decode()
    return (
        f"“{fitting[0]}” is a skill, not a tool. Read its instructions with {VIEW} {arguments}, "
        "then follow them with your tools. Nothing was run."
    )


def _unknown(name: str, known: Mapping[str, ToolSpec]) -> str:
    near = likely(name[:NAME_CHARS_MAX], known, most=3)
    if near:
        hint = f"The closest are: {', '.join(near)}."
    else:
        hint = f"Choose one of: {', '.join(sorted(known))}." if known else "There are none."
    return f"There is no tool named “{_excerpt(name)}”. {hint} Nothing was run."


def _arguments(text: str) -> tuple[str, str]:
    if _is_object(text):
        return text, ""
    if len(text) > MENDED_CHARS_MAX:
        return "{}", (
            f"The arguments were {len(text)} characters that are not a JSON object, so nothing "
            "was run. Call the tool again; split what is long over several calls."
        )
    found, cut = _mend(text)
    if found is not None:
        return found, ""
    if cut:
        return "{}", (
            f"The arguments were cut off before their end (… {_excerpt(text, end=True)}), so "
            "nothing was run. Call the tool again; split what is long over several calls."
        )
    return "{}", (
        f"The arguments were not a JSON object ({_excerpt(text)}), so nothing was run. "
        "Call the tool again with valid JSON."
    )


def _mend(text: str) -> tuple[str | None, bool]:
    """Return the JSON object that the text means, and whether the text is truncated."""
    for _ in range(WRAPPINGS_MAX):
        text = text.strip()
        if text in ("", "null", "None"):
            return "{}", False
        if text.startswith(_FENCE) and text.endswith(_FENCE) and "\n" in text:
            text = text.removesuffix(_FENCE).partition("\n")[2]
            continue
        inner = _string(text)
        if inner is None:
            break
        text = inner
    if _is_object(text):
        return text, False
    if not text.startswith("{"):
        return None, False
    relaxed, rest = relax(text)
    if rest is None:
        return None, True
    return (relaxed if _TAIL.match(rest) and _is_object(relaxed) else None), False


def relax(text: str) -> tuple[str, str | None]:
    """Convert loose JSON into strict JSON, up to where the first bracket closes. Return it and the
    rest.

    It repairs trailing commas, Python's words and quotes, and raw control characters and unknown
    escapes in strings. The rest is None when the text ends first.
    """
    out: list[str] = []
    at, depth = 0, 0
    while at < len(text):
        char = text[at]
        if char in "\"'":
            string, at = _relax_string(text, at)
            out.append(string)
            continue
        if word := _WORD.match(text, at):
            out.append(_WORDS.get(word.group(), word.group()))
            at = word.end()
            continue
        at += 1
        if char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            _drop_comma(out)
        out.append(char)
        if depth == 0:
            return "".join(out), text[at:]
    return "".join(out), None


def _relax_string(text: str, start: int) -> tuple[str, int]:
    """Return the string that begins at `start`, strictly quoted, and where it ends."""
    quote, at = text[start], start + 1
    out = ['"']
    while at < len(text) and text[at] != quote:
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            follows = text[at + 1]
            if follows == "'":
                out.append("'")
            elif follows in _ESCAPES:
                out.append(char + follows)
            else:
                out.append("\\\\" + _control(follows))
            at += 2
            continue
        out.append('\\"' if char == '"' else _control(char))
        at += 1
    closed = at < len(text)
    return "".join(out) + ('"' if closed else ""), at + 1


def _control(char: str) -> str:
    return f"\\u{ord(char):04x}" if char < " " else char


def _drop_comma(out: list[str]) -> None:
    for back in range(len(out) - 1, -1, -1):
        if out[back] == ",":
            del out[back]
            return
        if not out[back].isspace():
            return


def _is_object(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (ValueError, RecursionError):
        return False


def _string(text: str) -> str | None:
    """Return the content of the text if it is one JSON string."""
    if not text.startswith('"'):
        return None
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, str) else None


def _excerpt(text: str, *, end: bool = False) -> str:
    """Return a short excerpt on one line."""
    part = text[-EXCERPT_CHARS_MAX:] if end else text[:EXCERPT_CHARS_MAX]
    part = " ".join(_storable(part).split())
    return part + "…" if len(text) > EXCERPT_CHARS_MAX and not end else part


def _storable(text: str) -> str:
    """Return the text without lone surrogates, which no encoding accepts."""
    return text.encode("utf-8", "replace").decode()
