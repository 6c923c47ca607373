"""Wrap tools so that what they read and write carries its labels. See file_labels.py."""

import asyncio
from collections.abc import Mapping

from msgspec.structs import replace

from hermes.core.ids import CallId
from hermes.core.messages import PROVENANCE, Effect
from hermes.core.policy import UNTRUSTED, Capability, Finding
from hermes.core.ports import Tool, ToolContext, ToolResult
from hermes.ports.terminal import CommandRunning, Pending
from hermes.ports.workspace import Workspace, WorkspacePaths
from hermes.tools.command_reads import reads_of, writes_obeyed
from hermes.tools.files.file_labels import FileLabels, Labels, together
from hermes.tools.files.new_repositories import ASIDE, disarm
from hermes.tools.files.patch import ARGUMENTS as PATCH
from hermes.tools.files.patch import changes_in
from hermes.tools.files.paths import here, lexical
from hermes.tools.files.reachable import output_call
from hermes.tools.files.read_write import READ, WRITE
from hermes.tools.process import ARGUMENTS as PROCESS
from hermes.tools.terminal import ARGUMENTS as TERMINAL

LATER = frozenset({Capability.WRITE_RUN_LATER})


def labelled_read(tool: Tool, places: WorkspacePaths, labels: FileLabels) -> Tool:
    async def run(context: ToolContext) -> ToolResult:
        path = _path(places, context, READ.parse(context.call.arguments).path)
        call = output_call(here(places, context.facts), path)
        before = await asyncio.to_thread(labels.of, path)
        result = await tool.run(context)
        after = labels.of_output(call) if call else await asyncio.to_thread(labels.of, path)
        return _with(result, together([before, after]))

    return replace(tool, run=run)


def labelled_write(tool: Tool, places: WorkspacePaths, labels: FileLabels) -> Tool:
    async def run(context: ToolContext) -> ToolResult:
        given = WRITE.parse(context.call.arguments)
        path, content = _path(places, context, given.path), given.content.encode("utf-8", "replace")
        own = _own(context)
        if own:
            await asyncio.to_thread(labels.write, path, content, own)
        result = await tool.run(context)
        if not own:
            await asyncio.to_thread(labels.write, path, content, own)
        return result

    return replace(tool, run=run)


def labelled_patch(tool: Tool, places: WorkspacePaths, labels: FileLabels) -> Tool:
    async def around(context: ToolContext, made: ToolResult | None) -> ToolResult | None:
        """Before and after it: a kill in between leaves a label."""
        changes = changes_in(PATCH.parse(context.call.arguments))
        read: list[Labels] = []
        for path in (_path(places, context, change.path) for change in changes):
            read.append(await asyncio.to_thread(labels.of, path))
            await asyncio.to_thread(labels.change, path, _own(context))
        return _with(made, together(read)) if made is not None else None

    async def run(context: ToolContext) -> ToolResult:
        await around(context, None)
        result = await tool.run(context)
        return await around(context, result) or result

    async def recover(context: ToolContext) -> ToolResult | None:
        await around(context, None)
        return await around(
            context, await tool.recover(context) if tool.recover is not None else None
        )

    return replace(tool, run=run, recover=recover)


class LabelledCommands:
    """The tools that run commands."""

    def __init__(self, workspace: Workspace, labels: FileLabels) -> None:
        self._files, self._terminal = workspace.files, workspace.terminal
        self._places, self._labels = workspace.places, labels

    def terminal(self, tool: Tool) -> Tool:
        async def run(context: ToolContext) -> ToolResult:
            await self._begin(context)
            return await self._ended(context, await tool.run(context))

        async def recover(context: ToolContext) -> ToolResult | None:
            result = await tool.recover(context) if tool.recover is not None else None
            return await self._ended(context, result) if result is not None else None

        def judge(arguments: str, facts: Mapping[str, str]) -> Finding:
            return _judged(tool, arguments, facts)

        return replace(tool, run=run, recover=recover, judge=judge)

    def process(self, tool: Tool) -> Tool:
        """What a command of an earlier conversation prints is read in this one."""

        async def run(context: ToolContext) -> ToolResult:
            result = await tool.run(context)
            id_ = PROCESS.parse(context.call.arguments).id or ""
            return _with(result, await asyncio.to_thread(self._labels.of_output, id_))

        return replace(tool, run=run)

    async def _begin(self, context: ToolContext) -> None:
        """Raises ToolFailed when it cannot be written down: then nothing is run."""
        await self._settle()
        root, own = here(self._places, context.facts).root, _own(context)
        read = await asyncio.to_thread(self._read, context)
        foreign = (UNTRUSTED,) if self._labels.open_box else ()
        every = together([own, read, foreign])
        if UNTRUSTED in every:
            await asyncio.to_thread(self._labels.begin, str(context.call.id), root, every)

    async def begin_program(self, context: ToolContext) -> Labels:
        """Note that a program begins which may read and write the whole workspace. Return the
        labels of what it may read. Raises ToolFailed when that cannot be written down."""
        await self._settle()
        root = here(self._places, context.facts).root
        below = await asyncio.to_thread(self._labels.below, root)
        every = together([_own(context), below, (UNTRUSTED,) if self._labels.open_box else ()])
        if UNTRUSTED in every:
            await asyncio.to_thread(self._labels.begin, str(context.call.id), root, every)
        return every

    async def _ended(self, context: ToolContext, result: ToolResult) -> ToolResult:
        read = await asyncio.to_thread(self._read, context)
        disarmed = await self._settle()
        if disarmed:
            said = ", ".join(disarmed)
            note = f"settings of git that run programs were set aside (*{ASIDE}): {said}"
            result = replace(result, text=f"{result.text}\n[{note}]")
        return _with(result, read)

    def _read(self, context: ToolContext) -> Labels:
        """Of the files that the command names, or may read without naming them."""
        given = TERMINAL.parse(context.call.arguments)
        root = here(self._places, context.facts).root
        cwd = _path(self._places, context, given.workdir or ".")
        reads = reads_of(given.command, cwd, root)
        files = [self._labels.of(path) for path in dict.fromkeys(reads.files)]
        return together([*files, *map(self._labels.below, dict.fromkeys(reads.folders))])

    async def _settle(self) -> list[str]:
        """Note what commands changed that are over, also those of a process before this one. A
        repository that one of them has made runs nothing: returns those that would have."""
        disarmed: list[str] = []
        for call in self._labels.unsettled():
            seen = await self._terminal.look(CallId(call))
            if seen is None or not isinstance(seen.state, Pending | CommandRunning):
                changed = await asyncio.to_thread(self._labels.settle, call)
                if self._labels.boxed:
                    disarmed += await asyncio.to_thread(self._disarm, changed)
        return disarmed

    def _disarm(self, settings: tuple[str, ...]) -> list[str]:
        return [setting for setting in settings if disarm(self._files, setting)]


def _judged(tool: Tool, arguments: str, facts: Mapping[str, str]) -> Finding:
    """With what it does to files that programs obey later: after strangers' text, that asks."""
    found = tool.judge(arguments, facts)
    command = TERMINAL.parse(arguments).command
    if tool.effect(arguments) is Effect.READ or not writes_obeyed(command):
        return found
    own = tool.capabilities if found.capabilities is None else found.capabilities
    return replace(found, capabilities=own | LATER)


def _own(context: ToolContext) -> Labels:
    return tuple(sorted(context.labels & PROVENANCE))


def _path(places: WorkspacePaths, context: ToolContext, path: str) -> str:
    return lexical(here(places, context.facts), context.facts, path)


def _with(result: ToolResult, labels: Labels) -> ToolResult:
    return replace(result, labels=tuple(dict.fromkeys((*result.labels, *labels))))
