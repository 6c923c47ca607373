"""Read one tool call out of JSON, XML or Python that a model wrote as text. Pure.

A reader takes the text and a position and returns the calls that begin exactly there with the
position behind them, or None. Only known tools count, and only what is complete.
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from msgspec import Struct

from hermes.core.ports import RawCall, ToolSpec
from hermes.providers.aliases import schema_types, tool_of
from hermes.providers.repair import MENDED_CHARS_MAX, relax

CALLS_MAX: Final = 128
NESTED_MAX: Final = 3

Read = tuple[list[RawCall], int] | None

_NAMES: Final = (
    "name",
    "tool_name",
    "tool",
    "function",
    "function_name",
    "action",
    "recipient_name",
)
_ARGUMENTS: Final = (
    "arguments",
    "parameters",
    "args",
    "input",
    "params",
    "tool_input",
    "action_input",
    "kwargs",
)
_WRAPPED: Final = ("function", "function_call", "tool_call", "tool_calls", "tool_uses", "calls")
_BESIDE: Final = frozenset({"id", "type", "index", "tool_call_id", "call_id", "thought"})
KEYS: Final = frozenset((*_NAMES, *_ARGUMENTS, *_WRAPPED, *_BESIDE))

_NAME: Final = r"[A-Za-z_][\w.:/-]{0,79}"
_NAMED: Final = re.compile(
    rf"(?P<name>{_NAME})(?P<gap>\s{{0,20}}(?:(?:\[CALL_ID\][\w-]{{1,40}})?\[ARGS\]"
    r"|<\uff5ctool[▁_]sep\uff5c>|<\|tool_call_argument_begin\|>|<\|content\|>|Action Input:|✿ARGS✿:"
    r"|(?=[{`\n ]))\s{0,20})"
)
_HARMONY: Final = re.compile(
    rf"(?:\s*to=(?P<early>{_NAME}))?\s*<\|channel\|>(?:commentary|analysis)"
    rf"(?:\s+to=(?P<late>{_NAME}))?\s*(?:<\|constrain\|>)?\s*(?:json|code)?\s*<\|message\|>"
)
_GLM: Final = re.compile(rf"(?P<name>{_NAME})\s*(?=<arg_key>|</tool_call>)")
_GLM_PAIR: Final = re.compile(
    r"\s*<arg_key>(.{1,80}?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL
)
_XML: Final = re.compile(
    rf"<(?P<tag>(?:[\w\uff5c|]{{1,12}}[:\uff5c|])?(?:function|invoke))"
    rf"(?:=|\s+name\s*=\s*)[\"']?(?P<name>{_NAME})[\"']?\s*>"
)
_XML_PAIR: Final = re.compile(
    r"\s*<(?P<tag>(?:[\w\uff5c|]{1,12}[:\uff5c|])?(?:parameter|param|arg))"
    r"(?:=|\s+name\s*=\s*)[\"']?(?P<name>[\w-]{1,80})[\"']?(?P<more>[^>]{0,40})>"
    r"(?P<value>.*?)</(?P=tag)>",
    re.DOTALL,
)
_GEMMA: Final = re.compile(
    rf"call:(?P<name>{_NAME})\{{(?P<body>.*?)\}}(?=<end_function_call>)", re.S
)
_GEMMA_PAIR: Final = re.compile(r"\s*,?\s*(\w{1,80}):(?:<escape>(.*?)<escape>|([^,]*))", re.DOTALL)
_MCP: Final = re.compile(
    rf"<use_mcp_tool>.{{0,200}}?<tool_name>\s*(?P<name>{_NAME})\s*</tool_name>\s*<arguments>", re.S
)
_FENCE: Final = re.compile(r"```(?:json|tool_calls?|tool_code|xml|python|tool|text)?[ \t]*\n")
_FENCE_END: Final = re.compile(r"\s*```")
_PYTHONIC: Final = re.compile(rf"\[?\s*(?P<name>{_NAME})\(")


class OfferedTools(Struct, frozen=True):
    """The tools of a request."""

    known: Mapping[str, ToolSpec]

    def call(self, name: str, arguments: object) -> RawCall | None:
        """Return the call if the tool is known and the arguments are an object, or JSON of one."""
        if tool_of(name, self.known) is None:
            return None
        if isinstance(arguments, str):
            read = read_json(arguments, 0) if arguments.strip() else ({}, 0)
            if read is None or arguments[read[1] :].strip():
                return None
            arguments = read[0]
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            return None
        return RawCall(name, json.dumps(arguments, ensure_ascii=False))

    def typed(self, name: str, pairs: Sequence[tuple[str, str]]) -> RawCall | None:
        """Return the call whose values were written as text; the schema says what each is."""
        tool = tool_of(name, self.known)
        if tool is None:
            return None
        types = schema_types(self.known[tool])
        return self.call(name, {key: _value(text, types.get(key)) for key, text in pairs})


def read_json(text: str, at: int) -> tuple[object, int] | None:
    """Return the JSON object or list that begins there, and where it ends. None: it is not one, or
    it is cut off."""
    while at < len(text) and text[at].isspace():
        at += 1
    if text[at : at + 1] not in ("{", "["):
        return None
    try:
        found, end = _decoder.raw_decode(text, at)
    except (ValueError, RecursionError):
        return _relaxed(text, at)
    return found, end


def read_item(text: str, at: int, offered: OfferedTools) -> Read:
    """Return the calls that are written there, in whatever form."""
    for reader in _READERS:
        if found := reader(text, at, offered):
            return found
    return None


def calls_in(value: object, offered: OfferedTools, depth: int = 0) -> list[RawCall]:
    """Return the calls that a JSON value is. Empty: it is, or contains, something else."""
    if depth > NESTED_MAX:
        return []
    if isinstance(value, list):
        each = [calls_in(one, offered, depth + 1) for one in value[: CALLS_MAX + 1]]
        return [call for calls in each for call in calls] if all(each) else []
    if not isinstance(value, dict):
        return []
    inner = [key for key in _WRAPPED if isinstance(value.get(key), dict | list)]
    if inner:
        alone = all(key in _BESIDE or key == inner[0] for key in value)
        return calls_in(value[inner[0]], offered, depth + 1) if alone else []
    call = _object(value, offered)
    return [call] if call is not None else []


def _object(value: dict[str, object], offered: OfferedTools) -> RawCall | None:
    name_key = next((key for key in _NAMES if isinstance(value.get(key), str)), None)
    if name_key is None:
        return None
    name = str(value[name_key])
    given = [key for key in _ARGUMENTS if key in value]
    rest = {key: one for key, one in value.items() if key != name_key and key not in _BESIDE}
    if len(given) == 1 and set(rest) == set(given):
        return offered.call(name, value[given[0]])
    tool = tool_of(name, offered.known)
    if given or tool is None:
        return None
    fits = bool(rest) and set(rest) <= set(schema_types(offered.known[tool]))
    return offered.call(name, rest) if fits else None  # its arguments stand beside its name


def _json(text: str, at: int, offered: OfferedTools) -> Read:
    if text.startswith("{{", at):  # a template's braces, doubled
        read = read_json(text, at + 1)
        calls = calls_in(read[0], offered) if read and text.startswith("}", read[1]) else []
        return (calls, read[1] + 1) if read and calls else None
    read = read_json(text, at)
    calls = calls_in(read[0], offered) if read else []
    return (calls, read[1]) if read and calls else None


def _fenced(text: str, at: int, offered: OfferedTools) -> Read:
    fence = _FENCE.match(text, at)
    if fence is None:
        return None
    calls: list[RawCall] = []
    end = fence.end()
    while found := read_item(text, _skip_space(text, end), offered):
        calls += found[0]
        end = found[1]
    closed = _FENCE_END.match(text, end)
    return (calls, closed.end()) if calls and closed else None


def _named(text: str, at: int, offered: OfferedTools) -> Read:
    named = _NAMED.match(text, at)
    if named is None or (not named["gap"] and not text.startswith("{", named.end())):
        return None
    fence = _FENCE.match(text, named.end())
    read = read_json(text, fence.end() if fence else named.end())
    call = offered.call(named["name"], read[0]) if read else None
    if read is None or call is None:
        return None
    closed = _FENCE_END.match(text, read[1]) if fence else None
    return ([call], closed.end() if closed else read[1])


def _harmony(text: str, at: int, offered: OfferedTools) -> Read:
    head = _HARMONY.match(text, at)
    name = (head["late"] or head["early"]) if head else None
    read = read_json(text, head.end()) if head and name else None
    call = offered.call(name, read[0]) if read and name else None
    return ([call], read[1]) if read and call else None


def _glm(text: str, at: int, offered: OfferedTools) -> Read:
    head = _GLM.match(text, at)
    if head is None:
        return None
    pairs, end = [], head.end()
    while pair := _GLM_PAIR.match(text, end):
        pairs.append((pair[1].strip(), pair[2]))
        end = pair.end()
    call = offered.typed(head["name"], pairs)
    closed = re.compile(r"\s*</tool_call>").match(text, end)
    return ([call], end) if call and closed else None


def _xml(text: str, at: int, offered: OfferedTools) -> Read:
    head = _XML.match(text, at)
    if head is None:
        return None
    end = head.end()
    closing = f"</{head['tag']}>"
    if read := read_json(text, end):
        call = offered.call(head["name"], read[0])
        end = read[1]
    else:
        pairs = []
        while pair := _XML_PAIR.match(text, end):
            pairs.append((pair["name"], pair["value"]))
            end = pair.end()
        call = offered.typed(head["name"], pairs)
    end = _skip_space(text, end)
    return ([call], end + len(closing)) if call and text.startswith(closing, end) else None


def _own_tag(text: str, at: int, offered: OfferedTools) -> Read:
    """A tag named like the tool, with a tag for each argument."""
    head = re.compile(r"<([a-z_]{2,40})>").match(text, at)
    if head is None or head[1] not in offered.known:
        return None
    types = schema_types(offered.known[head[1]])
    pairs, end = [], head.end()
    each = re.compile(r"\s*<([a-z_]{1,40})>(.*?)</\1>", re.DOTALL)
    while pair := each.match(text, end):
        pairs.append((pair[1], pair[2]))
        end = pair.end()
    end = _skip_space(text, end)
    if not pairs or not all(key in types for key, _ in pairs):
        return None
    call = offered.typed(head[1], pairs)
    closing = f"</{head[1]}>"
    return ([call], end + len(closing)) if call and text.startswith(closing, end) else None


def _gemma(text: str, at: int, offered: OfferedTools) -> Read:
    head = _GEMMA.match(text, at)
    if head is None:
        return None
    found = _GEMMA_PAIR.findall(head["body"])
    call = offered.typed(head["name"], [(key, quoted or bare) for key, quoted, bare in found])
    return ([call], head.end()) if call else None


def _mcp(text: str, at: int, offered: OfferedTools) -> Read:
    head = _MCP.match(text, at)
    read = read_json(text, head.end()) if head else None
    call = offered.call(head["name"], read[0]) if head and read else None
    tail = re.compile(r"\s*</arguments>\s*</use_mcp_tool>").match(text, read[1]) if read else None
    return ([call], tail.end()) if call and tail else None


def _pythonic(text: str, at: int, offered: OfferedTools) -> Read:
    head = _PYTHONIC.match(text, at)
    if head is None or tool_of(head["name"], offered.known) is None:
        return None
    end = _closing(text, at if text[at] == "[" else head.end() - 1)
    if end is None:
        return None
    try:
        tree = ast.parse(text[at:end], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = tree.elts if isinstance(tree, ast.List) else [tree]
    calls = [_python_call(node, offered) for node in nodes]
    found = [call for call in calls if call is not None]
    return (found, end) if found and len(found) == len(calls) else None


def _python_call(node: ast.expr, offered: OfferedTools) -> RawCall | None:
    if not isinstance(node, ast.Call):
        return None
    name = ast.unparse(node.func)
    tool = tool_of(name, offered.known)
    if tool is None:
        return None
    names = list(schema_types(offered.known[tool]))
    if len(node.args) > min(1, len(names)) or any(word.arg is None for word in node.keywords):
        return None
    try:
        given = dict(zip(names, map(_literal, node.args), strict=False))
        given |= {str(word.arg): _literal(word.value) for word in node.keywords}
    except (ValueError, TypeError, RecursionError):
        return None
    return offered.call(name, given)


def _literal(node: ast.expr) -> object:
    if isinstance(node, ast.Name) and node.id in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[node.id]
    value: object = ast.literal_eval(node)
    json.dumps(value)  # a set or bytes are no arguments
    return value


_READERS: Final = (
    _json,
    _fenced,
    _harmony,
    _xml,
    _mcp,
    _own_tag,
    _gemma,
    _glm,
    _pythonic,
    _named,
)


def _closing(text: str, at: int) -> int | None:
    """Return the position behind the bracket that closes the one at `at`."""
    depth, quote = 0, ""
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif text.startswith(quote, at):
                at += len(quote) - 1
                quote = ""
        elif char in "\"'":
            quote = char * 3 if text.startswith(char * 3, at) else char
            at += len(quote) - 1
        else:
            depth += (char in "([{") - (char in ")]}")
            if depth == 0:
                return at + 1
        at += 1
    return None


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _value(text: str, kind: object) -> object:
    """Return a value that was written without quotes. Where its tags stand on lines of their own,
    their line breaks are not part of it."""
    bare = text[1:].removesuffix("\n") if text.startswith("\n") else text
    if kind in ("string", None):
        return bare
    try:
        return json.loads(bare)
    except (ValueError, RecursionError):
        return {"True": True, "False": False}.get(bare.strip(), bare)


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


_decoder: Final = json.JSONDecoder(strict=False, parse_constant=_refuse)


def _relaxed(text: str, at: int) -> tuple[object, int] | None:
    if len(text) - at > MENDED_CHARS_MAX:
        return None
    strict, rest = relax(text[at:])
    if rest is None:
        return None
    try:
        return json.loads(strict), len(text) - len(rest)
    except (ValueError, RecursionError):
        return None
