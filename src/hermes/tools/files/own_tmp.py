"""Let a tool speak of the conversation's scratch place as `/tmp`, which is its name in a box.

The tool itself works with the path on the disk, so that everything that is judged, opened and
labelled is the file that it is.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from hermes.core.errors import ToolFailed
from hermes.core.ports import Presented, Tool, ToolContext, ToolResult
from hermes.ports.scratch import as_seen
from hermes.ports.workspace import WorkspacePaths
from hermes.tools.files.paths import here


def with_own_tmp(tool: Tool, places: WorkspacePaths) -> Tool:
    if not places.scratch:
        return tool
    present = tool.present

    def said(text: str, facts: Mapping[str, str]) -> str:
        return as_seen(text, here(places, facts).scratch)

    def shown(result: ToolResult, facts: Mapping[str, str]) -> ToolResult:
        return replace(result, text=said(result.text, facts), diff=said(result.diff, facts))

    async def run(context: ToolContext) -> ToolResult:
        try:
            return shown(await tool.run(context), context.facts)
        except ToolFailed as failure:
            raise ToolFailed(said(str(failure), context.facts)) from failure

    async def recover(context: ToolContext) -> ToolResult | None:
        found = await tool.recover(context) if tool.recover is not None else None
        return shown(found, context.facts) if found is not None else None

    def presented(arguments: str, facts: Mapping[str, str]) -> Presented:
        seen = present(arguments, facts) if present is not None else Presented(text=arguments)
        notes = tuple(said(note, facts) for note in seen.notes)
        return replace(seen, text=said(seen.text, facts), notes=notes)

    return replace(
        tool,
        run=run,
        recover=recover if tool.recover is not None else None,
        present=presented if present is not None else None,
    )
