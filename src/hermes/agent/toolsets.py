"""Toolsets that are made of other things: a list of tools, several toolsets, a filter, new names.

The composition root puts them together; the engine sees one `Toolset` (see `core.ports`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.child_sessions import PartResult, joined_text
from hermes.core.ids import SessionKey
from hermes.core.messages import Call, Effect
from hermes.core.policy import barred
from hermes.core.ports import Tool, ToolScope, Toolset

LOOKING_BACK = (
    "A look back at a conversation cannot use the tool “{name}”. Nothing was run. "
    "Use the tools that you were told of."
)

Why = Callable[[str, Tool, ToolScope], str]  # the name models use, the tool: why not; "": it may


def beyond_role(name: str, tool: Tool, scope: ToolScope) -> str:
    """Why a person who has a conversation alone is not told of a tool: whatever the call, the
    policy would refuse it. Where several people speak, the tool is listed for those who may use it,
    and the policy answers each call."""
    why = barred(scope.subject, tool.ways or (tool.capabilities,)) if scope.alone else ""
    return f"The tool “{name}” cannot be used here: {why}. Nothing was run." if why else ""


class StaticToolset:
    """Tools that are always there. The first of two with the same name counts."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self._tools = {tool.spec.name: tool for tool in reversed(tools)}
        self._order = tuple(dict.fromkeys(tool.spec.name for tool in tools))

    async def tools_for(self, _scope: ToolScope) -> Sequence[Tool]:
        return tuple(self._tools[name] for name in self._order)

    def find(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def withheld(self, _name: str, _scope: ToolScope) -> str:
        return ""


class CombinedToolset(Struct, frozen=True):
    """Several toolsets, one behind the other. A name belongs to the first that has it."""

    members: tuple[Toolset, ...]

    async def tools_for(self, scope: ToolScope) -> Sequence[Tool]:
        every = [tool for each in self.members for tool in await each.tools_for(scope)]
        named = {tool.spec.name: tool for tool in reversed(every)}
        return tuple(named[name] for name in dict.fromkeys(tool.spec.name for tool in every))

    def find(self, name: str) -> Tool | None:
        return next((tool for each in self.members if (tool := each.find(name))), None)

    def withheld(self, name: str, scope: ToolScope) -> str:
        owner = next((each for each in self.members if each.find(name) is not None), None)
        return owner.withheld(name, scope) if owner is not None else ""


class FilteredToolset(Struct, frozen=True):
    """A toolset without what `why` speaks against: not listed, and refused with that sentence."""

    inner: Toolset
    why: Why

    async def tools_for(self, scope: ToolScope) -> Sequence[Tool]:
        tools = await self.inner.tools_for(scope)
        return tuple(tool for tool in tools if not self.why(tool.spec.name, tool, scope))

    def find(self, name: str) -> Tool | None:
        return self.inner.find(name)

    def withheld(self, name: str, scope: ToolScope) -> str:
        tool = self.inner.find(name)
        own = self.why(name, tool, scope) if tool is not None else ""
        return own or self.inner.withheld(name, scope)


class ListedToolset(Struct, frozen=True):
    """A toolset of which some scopes are told only a few tools, by name. All can still be called:
    a conversation may have begun with another model."""

    inner: Toolset
    names: Callable[[ToolScope], Sequence[str]]  # empty: all

    async def tools_for(self, scope: ToolScope) -> Sequence[Tool]:
        tools, names = await self.inner.tools_for(scope), self.names(scope)
        return tuple(tool for tool in tools if not names or tool.spec.name in names)

    def find(self, name: str) -> Tool | None:
        return self.inner.find(name)

    def withheld(self, name: str, scope: ToolScope) -> str:
        return self.inner.withheld(name, scope)


class RenamedToolset(Struct, frozen=True):
    """A toolset whose tools models know by other names; `names` leads from the old to the new."""

    inner: Toolset
    names: Mapping[str, str]

    async def tools_for(self, scope: ToolScope) -> Sequence[Tool]:
        tools = await self.inner.tools_for(scope)
        return tuple(_named(tool, self.names.get(tool.spec.name, tool.spec.name)) for tool in tools)

    def find(self, name: str) -> Tool | None:
        old = self._old(name)
        tool = self.inner.find(old) if old else None
        return _named(tool, name) if tool is not None else None

    def withheld(self, name: str, scope: ToolScope) -> str:
        old = self._old(name)
        return self.inner.withheld(old, scope) if old else ""

    def _old(self, name: str) -> str:
        """Empty for a name that was given away."""
        olds = [old for old, new in self.names.items() if new == name]
        return olds[0] if olds else "" if name in self.names else name


class PrefixedToolset(Struct, frozen=True):
    """A toolset whose tools carry the name of where they come from, as in `mcp_files_read`."""

    inner: Toolset
    prefix: str

    async def tools_for(self, scope: ToolScope) -> Sequence[Tool]:
        tools = await self.inner.tools_for(scope)
        return tuple(_named(tool, self.prefix + tool.spec.name) for tool in tools)

    def find(self, name: str) -> Tool | None:
        ours = name.startswith(self.prefix)
        tool = self.inner.find(name.removeprefix(self.prefix)) if ours else None
        return _named(tool, name) if tool is not None else None

    def withheld(self, name: str, scope: ToolScope) -> str:
        ours = name.startswith(self.prefix)
        return self.inner.withheld(name.removeprefix(self.prefix), scope) if ours else ""


class LazyToolset:
    """A toolset that is made when it is first asked, so that an idle process does not hold it."""

    def __init__(self, make: Callable[[], Toolset]) -> None:
        self._make = make

    async def tools_for(self, scope: ToolScope) -> Sequence[Tool]:
        return await self._made.tools_for(scope)

    def find(self, name: str) -> Tool | None:
        return self._made.find(name)

    def withheld(self, name: str, scope: ToolScope) -> str:
        return self._made.withheld(name, scope)

    @cached_property
    def _made(self) -> Toolset:
        return self._make()


class Recovering(Struct, frozen=True):
    """The names of tools that can look for a lost call's outcome, as a container."""

    tools: Toolset

    def __contains__(self, name: object) -> bool:
        tool = self.tools.find(name) if isinstance(name, str) else None
        return tool is not None and tool.recover is not None


def effect_of(tools: Toolset, call: Call) -> Effect:
    """Of a tool that is gone, the worst."""
    tool = tools.find(call.tool)
    return tool.effect(call.arguments) if tool is not None else Effect.EFFECT


def children_of(tools: Toolset, call: Call) -> tuple[SessionKey, ...]:
    """The sessions that a call begins and that end with its turn."""
    tool = tools.find(call.tool)
    return tool.children(call) if tool is not None and not call.fault else ()


def composed(tools: Toolset, call: Call, parts: tuple[PartResult, ...]) -> str:
    """The text of a deferred call's results."""
    tool = tools.find(call.tool)
    return tool.compose(parts) if tool is not None else joined_text(parts)


def is_parallel(tools: Toolset, call: Call) -> bool:
    """May the call run beside others? Reads always may."""
    tool = tools.find(call.tool)
    return tool is not None and (tool.parallel or tool.effect(call.arguments) is Effect.READ)


def for_reviews(name: str, tool: Tool, scope: ToolScope) -> str:
    """A look back at a conversation has only the tools that are meant for it."""
    looks_back = any(hop.kind == "review" for hop in scope.subject.hops)
    return LOOKING_BACK.format(name=name) if looks_back and not tool.reviews else ""


def _named(tool: Tool, name: str) -> Tool:
    return tool if tool.spec.name == name else replace(tool, spec=replace(tool.spec, name=name))
