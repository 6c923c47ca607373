"""Read tool calls that are written as tags: XML of several kinds. Pure."""

import re
from typing import Final

from hermes.providers.aliases import schema_types
from hermes.providers.text_call_values import NAME, OfferedTools, Read, read_json, skip_space

_GLM: Final = re.compile(rf"(?P<name>{NAME})\s*(?=<arg_key>|</tool_call>)")
_GLM_PAIR: Final = re.compile(
    r"\s*<arg_key>(.{1,80}?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL
)
_XML: Final = re.compile(
    rf"<(?P<tag>(?:[\w\uff5c|]{{1,12}}[:\uff5c|])?(?:function|invoke|tool_call|tool))"
    rf"(?:=|\s+name\s*=\s*)[\"']?(?P<name>{NAME})[\"']?\s*>"
)
_XML_PAIR: Final = re.compile(
    r"\s*<(?P<tag>(?:[\w\uff5c|]{1,12}[:\uff5c|])?(?:parameter|param|arg))"
    r"(?:=|\s+name\s*=\s*)[\"']?(?P<name>[\w-]{1,80})[\"']?(?P<more>[^>]{0,40})>"
    r"(?P<value>.*?)</(?P=tag)>",
    re.DOTALL,
)
_CHILD: Final = re.compile(r"\s*<(?P<name>[a-z_]{1,40})>(?P<value>.*?)</(?P=name)>", re.DOTALL)
_NAME_TAG: Final = re.compile(
    rf"<(?:tool_|function_)?name>\s*(?P<name>{NAME})\s*</(?:tool_|function_)?name>"
    r"\s*<(?P<tag>arguments|parameters|args|input)>"
)
_GEMMA: Final = re.compile(
    rf"call:(?P<name>{NAME})\{{(?P<body>.*?)\}}(?=<end_function_call>)", re.S
)
_GEMMA_PAIR: Final = re.compile(r"\s*,?\s*(\w{1,80}):(?:<escape>(.*?)<escape>|([^,]*))", re.DOTALL)
_MCP: Final = re.compile(
    rf"<use_mcp_tool>.{{0,200}}?<tool_name>\s*(?P<name>{NAME})\s*</tool_name>\s*<arguments>", re.S
)


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
        pairs, end = _pairs(text, end)
        call = offered.typed(head["name"], pairs)
    end = skip_space(text, end)
    return ([call], end + len(closing)) if call and text.startswith(closing, end) else None


def _pairs(text: str, at: int) -> tuple[list[tuple[str, str]], int]:
    """Return the arguments that are written there as tags, and where they end."""
    pairs = []
    while pair := _XML_PAIR.match(text, at) or _CHILD.match(text, at):
        pairs.append((pair["name"], pair["value"]))
        at = pair.end()
    return pairs, at


def _parts(text: str, at: int, offered: OfferedTools) -> Read:
    """A tag for the name, and one for the arguments."""
    head = _NAME_TAG.match(text, at)
    if head is None:
        return None
    if read := read_json(text, head.end()):
        call, end = offered.call(head["name"], read[0]), read[1]
    else:
        pairs, end = _pairs(text, head.end())
        call = offered.typed(head["name"], pairs)
    end = skip_space(text, end)
    closing = f"</{head['tag']}>"
    return ([call], end + len(closing)) if call and text.startswith(closing, end) else None


def _own_tag(text: str, at: int, offered: OfferedTools) -> Read:
    """A tag named like the tool, with a tag for each argument."""
    head = re.compile(r"<([a-z_]{2,40})>").match(text, at)
    if head is None or head[1] not in offered.known:
        return None
    types = schema_types(offered.known[head[1]])
    pairs, end = _pairs(text, head.end())
    end = skip_space(text, end)
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


TAG_READERS: Final = (_xml, _mcp, _parts, _own_tag, _gemma, _glm)
