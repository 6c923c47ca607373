"""Read one tool call out of whatever a model wrote as text. Pure.

A reader takes the text and a position and returns the calls that begin exactly there with the
position behind them, or None. Only known tools count, and only what is complete.
"""

import ast
import json
import re
from typing import Final

from hermes.core.ports import RawCall
from hermes.providers.aliases import schema_types, tool_of
from hermes.providers.text_call_tags import TAG_READERS
from hermes.providers.text_call_values import (
    NAME,
    OfferedTools,
    Read,
    calls_in,
    read_json,
    skip_space,
)

_NAMED: Final = re.compile(
    rf"(?P<name>{NAME})(?P<gap>\s{{0,20}}(?:(?:\[CALL_ID\][\w-]{{1,40}})?\[ARGS\]"
    r"|<[|\uff5c]tool[▁_]sep[|\uff5c]>|<\|tool_call_argument_begin\|>|<\|content\|>"
    r"|Action Input:|✿ARGS✿:|(?=[{`\n ]))\s{0,20})"
)
_HARMONY: Final = re.compile(
    rf"(?:\s*to=(?P<early>{NAME}))?\s*<\|channel\|>(?:commentary|analysis)"
    rf"(?:\s+to=(?P<late>{NAME}))?\s*(?:<\|constrain\|>)?\s*(?:json|code)?\s*<\|message\|>"
)
_FENCE: Final = re.compile(r"```(?:json|tool_calls?|tool_code|xml|python|tool|text)?[ \t]*\n")
_FENCE_END: Final = re.compile(r"\s*```")
_PYTHONIC: Final = re.compile(rf"\[?\s*(?P<name>{NAME})\(")


def read_item(text: str, at: int, offered: OfferedTools) -> Read:
    """Return the calls that are written there, in whatever form."""
    for reader in _READERS:
        if found := reader(text, at, offered):
            return found
    return None


def _json(text: str, at: int, offered: OfferedTools) -> Read:
    if text.startswith("{{", at) and (end := _closing(text, at)):  # a template's braces, doubled
        plain = text[at:end].replace("{{", "{").replace("}}", "}")
        read = read_json(plain, 0)
        calls = calls_in(read[0], offered) if read and read[1] == len(plain) else []
        return (calls, end) if calls else None
    read = read_json(text, at)
    calls = calls_in(read[0], offered) if read else []
    return (calls, read[1]) if read and calls else None


def _fenced(text: str, at: int, offered: OfferedTools) -> Read:
    fence = _FENCE.match(text, at)
    if fence is None:
        return None
    calls: list[RawCall] = []
    end = fence.end()
    while found := read_item(text, skip_space(text, end), offered):
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


def _pythonic(text: str, at: int, offered: OfferedTools) -> Read:
    head = _PYTHONIC.match(text, at)
    if head is None or not (head["name"] == "print" or _known(head["name"], offered)):
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
    if name == "print" and len(node.args) == 1 and not node.keywords:
        return _python_call(node.args[0], offered)
    tool = _known(name, offered)
    if tool is None or any(word.arg is None for word in node.keywords):
        return None
    names = list(schema_types(offered.known[tool]))
    try:
        values = [_literal(each) for each in node.args]
        given = {str(word.arg): _literal(word.value) for word in node.keywords}
    except (ValueError, TypeError, RecursionError):
        return None
    if len(values) == 1 and not given and isinstance(values[0], dict):
        return offered.call(tool, values[0])
    if len(values) > len(names):
        return None
    return offered.call(tool, {**dict(zip(names, values, strict=False)), **given})


def _known(name: str, offered: OfferedTools) -> str | None:
    return tool_of(name.removesuffix(".call"), offered.known)


def _literal(node: ast.expr) -> object:
    if isinstance(node, ast.Name) and node.id in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[node.id]
    value: object = ast.literal_eval(node)
    json.dumps(value)  # a set or bytes are no arguments
    return value


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


_READERS: Final = (_json, _fenced, _harmony, *TAG_READERS, _pythonic, _named)
