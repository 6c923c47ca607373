"""Find the tool calls that a model wrote into its answer as text. Pure.

Open models write calls as they were trained to; a server that does not know a model's dialect
passes them on as text. Only an answer to which tools were offered is read, and only when no native
call came. All calls of an answer count or none does. Prose that talks about calls stays prose: a
call ends the answer, stands on a line of its own or behind a finished sentence, is no code and no
quotation, names a known tool, and is complete.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

from hermes.core.messages import Line
from hermes.core.ports import ModelRequest, RawCall, ToolSpec
from hermes.providers.aliases import tool_of
from hermes.providers.prose_place import ProsePlace
from hermes.providers.text_call_readers import read_item
from hermes.providers.text_call_values import CALLS_MAX, KEYS, OfferedTools

BEFORE_CHARS_MAX: Final = 240
UNSURE_CHARS_MAX: Final = 200  # what still may be a call behind these is held back to the end
TOOL_LISTS_MAX: Final = 16
ALL: Final = ">>>all\n"

_PREFIXES: Final = ("", "antml:", "minimax:", "seed:", "steptml:", "\uff5cDSML\uff5c", "|DSML|")
_TAGS: Final = (
    "tool_call",
    "function_call",
    "invoke ",
    "function=",
    "function name=",
    "tool name=",
)
# Special tokens, which nobody writes by accident; they count also in the middle of a line.
_SPECIAL: Final = (
    "<|python_tag|>",
    "<|python_start|>",
    "<|tool_call",
    "<|START_ACTION|>",
    "<|action_start|>",
    "<|tools_prefix|>",
    "<|channel|>",
    "<|start|>assistant",
    "<|recipient|>",
    "<\uff5ctool▁call",
    "<\uff5ctool_call",
    "<|tool▁call",
    "<start_function_call>",
    "[TOOL_CALLS]",
    "✿FUNCTION✿",
)
_ON_A_LINE: Final = (
    *(f"<{prefix}{tag}" for prefix in _PREFIXES for tag in _TAGS),
    "<tools>",
    "<functioncall>",
    "<TOOLCALL>",
    "<use_mcp_tool>",
    "functools[",
    "Action:",
    "```tool_c",
    ">>>",
)
_AROUND: Final = re.compile(
    r"\s+|[;,](?=\s*[\[{<\w])|</?(?:[\w\uff5c|]{1,12}[:\uff5c|])?(?:tool_calls?|tools|functioncall"
    r"|function_calls?|TOOLCALL|antml)>|\[/?TOOL_CALLS\]|functools(?=\[)|</s>|>>>|Action:"
    r"|✿FUNCTION✿:|(?:function)?<[|\uff5c]tool[▁_]sep[|\uff5c]>|<(?:start|end)_function_call>"
    r"|<\|channel\|>analysis<\|message\|>.*?<\|end\|>|<\|(?:start|from)\|>assistant"
    r"|<\|(?!channel\||start\|)[\w/▁ ]{1,40}\|>|<\uff5c(?!DSML)[^\uff5c\n]{1,40}\uff5c>",
    re.DOTALL,
)
_CLOSING: Final = re.compile(
    r"\s+|;|</[\w:\uff5c|]{1,40}>|\[/TOOL_CALLS\]|<end_function_call>"
    r"|<\|(?:/\w+|[\w▁]*end[\w▁]*|END_\w+|stop|eot_id|eom_id|im_end|call|return|tools_suffix)\|>"
    r"|<\uff5c[^\uff5c\n]{0,40}end[^\uff5c\n]{0,40}\uff5c>"
)
_RESULT: Final = re.compile(
    r"\s*(?:<tool_response>|<tool_results?\b|<function_results?>|<\|start_header_id\|>"
    r"|<\|im_start\|>|Observation:|\[TOOL_RESULTS\]|✿RESULT✿|<\uff5ctool▁outputs?▁begin\uff5c>"
    r"|<start_function_response>)"
)
_SENTENCE_END: Final = re.compile(r"[.!?:…。\uff01\uff1f][*_]{0,2}\s{0,3}\Z")
_SHOWN: Final = re.compile(
    r"(?i)\b(?:examples?|e\.g\.|for instance|looks? like|like this|as follows|formats?|syntax|"
    r"template|schema)\b[^\n.!?]{0,80}[:.]?\s{0,4}\Z"
)
_QUOTE_MARKS: Final = frozenset("'\"“\u2018(«")
_NUMBERED: Final = re.compile(r"(?m)^\s{0,9}\d{1,9}\|")  # as read_file shows lines
_FENCE_HEAD: Final = re.compile(r"```(?:json|tool_calls?|tool_code|xml|python|tool|text)?[ \t]*\n")
_FENCE_BEGUN: Final = re.compile(r"`{1,3}\Z|```[a-z_]{0,12}[ \t]*\Z")
_OBJECT_BEGUN: Final = re.compile(r"\{|\[\s*(?:\{|\Z)")
_KEY_BEGUN: Final = re.compile(r"(?:\[\s*)?\{\s*[\"'](\w*)(.?)", re.DOTALL)
_NAME_BEGUN: Final = re.compile(r"\[?\s*([A-Za-z_][\w.]*)?(.?)", re.DOTALL)


class TextCalls(Struct, frozen=True):
    """Text that is not a call, and the calls behind it."""

    text: str
    calls: tuple[RawCall, ...] = ()


class Openings(Struct, frozen=True):
    """What a call can begin with, for one list of tools."""

    pattern: re.Pattern[str]
    begun: frozenset[str]  # all beginnings of them
    length_max: int


@lru_cache(maxsize=TOOL_LISTS_MAX)
def _openings(names: tuple[str, ...]) -> Openings:
    every = (*_SPECIAL, *_ON_A_LINE, *(f"<{name}>" for name in names))
    begun = {opening[:length] for opening in every for length in range(1, len(opening))}
    pattern = re.compile("|".join(map(re.escape, every)))
    return Openings(pattern, frozenset(begun), max(map(len, begun)))


def reader_for(request: ModelRequest) -> "TextCallReader | None":
    """Return a reader for the answer to this request. None: no tools were offered."""
    if not request.tools:
        return None
    return TextCallReader(request.tools, lambda block: _is_quoted(block, request.lines))


class TextCallReader:
    """Take the pieces of an answer, and hold back what may be a call until that is known."""

    def __init__(self, tools: Sequence[ToolSpec], quoted: Callable[[str], bool]) -> None:
        self._offered = OfferedTools({tool.name: tool for tool in tools})
        self._openings = _openings(tuple(tool.name for tool in tools))
        self._quoted = quoted
        self._state: Literal["start", "talking", "held"] = "start"
        self._held: list[str] = []
        self._place = ProsePlace()
        self._before = ""

    def feed(self, text: str) -> str:
        """Return what can be shown now."""
        self._held.append(text)
        if self._state == "held":
            return ""
        held = "".join(self._held)
        if self._state == "start":
            if self._may_be_bare(held):
                self._held = [held]
                if len(held) > UNSURE_CHARS_MAX:
                    self._state = "held"
                return ""
            self._state = "talking"
        shown, rest = self._scanned(held)
        self._held = [rest]
        return shown

    def end(self, *, native: bool) -> TextCalls:
        """Return the rest of the text and the calls, at the end of the answer."""
        held, self._held = "".join(self._held), []
        bare = self._state == "start" or (self._state == "held" and not self._before.strip())
        calls = [] if native else self._calls(held, bare)
        if calls:
            return TextCalls("", tuple(calls))
        return TextCalls(held.removeprefix(ALL))

    def _scanned(self, text: str) -> tuple[str, str]:
        """Return what is prose for certain, and the rest, which begins with an opening or with what
        may become one."""
        at = 0
        while opening := self._openings.pattern.search(text, at):
            self._pass_over(text[at : opening.start()])
            if self._counts(opening.group()):
                self._state = "held"
                return text[: opening.start()], text[opening.start() :]
            at = opening.start() + 1
            self._pass_over(text[opening.start() : at])
        for length in range(min(self._openings.length_max, len(text) - at), 0, -1):
            if text[-length:] in self._openings.begun:
                cut = len(text) - length
                self._pass_over(text[at:cut])
                return text[:cut], text[cut:]
        self._pass_over(text[at:])
        return text, ""

    def _counts(self, opening: str) -> bool:
        """May a call begin here?"""
        place = self._place
        if opening.startswith("```"):
            return place.begins_line
        if not place.is_plain:
            return False
        if place.begins_line:
            return True
        if opening in _SPECIAL:
            return place.tail[-1:] not in _QUOTE_MARKS
        named = opening.startswith("<") and not opening[1:].startswith("|")
        return named and bool(_SENTENCE_END.search(place.tail))

    def _pass_over(self, text: str) -> None:
        self._place.pass_over(text)
        self._before = (self._before + text)[-BEFORE_CHARS_MAX:]

    def _calls(self, held: str, bare: bool) -> list[RawCall]:
        """Return the calls if all that is held are calls."""
        if not held.strip() or _SHOWN.search(self._before):
            return []
        calls: list[RawCall] = []
        at, begins = 0, not self._before.strip()
        while True:
            read = self._region(held, at, bare and at == 0)
            if read is None or self._quoted(held[at : read[1]]):
                return []
            calls += read[0]
            at = read[1]
            rest = held[at:]
            if len(calls) > CALLS_MAX:
                return []
            if not rest.strip() or _RESULT.match(rest):
                return calls
            following = self._next_opening(rest)
            if following is not None:
                at += following
                continue
            marked = self._openings.pattern.match(held.lstrip())
            closed = held[:at].rstrip().endswith(">")
            alone = begins and marked and closed and rest.startswith("\n")
            return calls if alone and not self._openings.pattern.search(rest) else []

    def _next_opening(self, rest: str) -> int | None:
        """Return where the next call may begin, behind more prose."""
        place, at = ProsePlace(), 0
        for opening in self._openings.pattern.finditer(rest):
            place.pass_over(rest[at : opening.start()])
            at = opening.start()
            if place.begins_line and not _SHOWN.search(rest[:at]):
                return at
        return None

    def _region(self, text: str, at: int, bare: bool) -> tuple[list[RawCall], int] | None:
        """Return the calls that follow one another there, with the position behind the last."""
        calls: list[RawCall] = []
        start, end = at, None
        while len(calls) <= CALLS_MAX:
            read = read_item(text, at, self._offered)
            if read is None and (around := _AROUND.match(text, at)):
                if text.startswith(ALL, at) and (later := text.find(">>>", at + 3)) > 0:
                    at = later
                else:
                    at = around.end()
                continue
            if read is None:
                break
            if not calls and not bare and at == start and text[at] in "{[":
                break  # no mark says that this is a call
            calls += read[0]
            at = end = read[1]
        if end is None:
            return None
        while closing := _CLOSING.match(text, end):
            if closing.group().isspace() and not _CLOSING.match(text, closing.end()):
                break
            end = closing.end()
        return calls, end

    def _may_be_bare(self, held: str) -> bool:
        """May the whole answer be a call without marks?"""
        text = held.lstrip()
        if not text or _FENCE_BEGUN.match(text):
            return True
        if fence := _FENCE_HEAD.match(text):
            text = text[fence.end() :].lstrip()
            if not text:
                return True
        if _OBJECT_BEGUN.match(text):
            key = _KEY_BEGUN.match(text)
            if key is None:
                return not text.strip("[{ \n\t")
            return key[1] in KEYS if key[2] else any(one.startswith(key[1]) for one in KEYS)
        name = _NAME_BEGUN.match(text)
        if name is None or not name[1]:
            return False
        known = self._offered.known
        if not name[2]:
            plain = name[1].removeprefix("functions.")
            return "functions.".startswith(name[1]) or any(k.startswith(plain) for k in known)
        begins_call = name[2] == "(" or (name[2] in " \n{" and not text.startswith("["))
        if not begins_call or tool_of(name[1], known) is None:
            return False
        return name[2] != " " or text[name.end() :].lstrip()[:1] in ("", "{")


def _is_quoted(block: str, lines: Sequence[Line]) -> bool:
    """Does the block stand in what a tool returned or a person wrote? Then it is repeated, not
    meant."""
    plain = "".join(block.split())
    others = (line.text for line in lines if line.role != "assistant")
    return any(plain in "".join(_NUMBERED.sub("", text).split()) for text in others)
