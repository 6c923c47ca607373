"""What subagents of a home are given. Part of the composition root."""

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from hermes.core.child_sessions import part_name
from hermes.core.errors import Rejected
from hermes.core.messages import SCRIPT_NAME, Reply
from hermes.core.ports import Tool, ToolContext
from hermes.ports.workspace import FileAccess, Workspace
from hermes.settings import Settings
from hermes.settings.toolsets import TOOLSETS, toolset_of
from hermes.tools.delegation.isolation import CopiedFolders
from hermes.tools.delegation.reports import SHARES
from hermes.tools.delegation.tool import DelegationRules, delegate_tool
from hermes.tools.files.paths import here, workdir_of

FOLDER = ".subagents"  # in the workspace: git and searches leave it alone


class Subagents:
    """The tool that begins them, and what is kept of their reports."""

    def __init__(
        self, settings: Settings, workspace: Workspace, choose: Callable[[str], str]
    ) -> None:
        self._settings = settings
        self._workspace = workspace
        self._choose = choose
        self._copies = CopiedFolders(workspace)

    def tool(self) -> Tool:
        wanted = self._settings.delegation
        return delegate_tool(
            DelegationRules(
                model=wanted.model,
                depth=wanted.depth,
                steps_max=wanted.turn_limit,
                tokens_max=self._settings.agent.tokens_max,
                summary_chars=wanted.summary_chars,
                toolsets=wanted.toolsets,
                choose=self._chosen,
                models=self._models,
                toolset_of=toolset_of,
                known_toolsets=tuple(TOOLSETS),
                isolate=self._isolate,
            )
        )

    async def complete(self, reply: Reply) -> Reply:
        """The report with what was changed in its copy of the folder; and, where it is more than is
        read at once, the file with all of it."""
        if reply.ends is None:
            return reply
        if reply.ends.copy:
            part, copy = reply.address.thread, reply.ends.copy
            diff = await self._copies.diff(reply.session, part, copy)
            reply = replace(reply, text=f"{reply.text}\n\n{_changes(copy, diff)}")
        least = self._settings.delegation.summary_chars // SHARES
        if reply.ends is None or reply.ends.model == SCRIPT_NAME or len(reply.text) <= least:
            return reply
        name = f"{reply.ends.turn}.md"
        path = await asyncio.to_thread(self._written, name, reply.text)
        return replace(reply, ends=replace(reply.ends, whole=path))

    def _written(self, name: str, text: str) -> str:
        root = f"{self._workspace.places.root}/{FOLDER}"
        access = FileAccess(beneath=self._workspace.places.root, permit=lambda _path: None)
        try:
            self._workspace.files.replace(f"{root}/.gitignore", b"*\n", access, tag="ignore")
            path = f"{root}/reports/{name}"
            self._workspace.files.replace(path, text.encode(), access, tag=name)
        except OSError:  # the report itself is more important than all of its words
            return ""
        return path

    async def _isolate(self, context: ToolContext, part: int) -> str:
        places = here(self._workspace.places, context.facts)
        source, _ = await asyncio.to_thread(
            workdir_of, self._workspace.files, places, context.facts
        )
        name = part_name(context.call.id, part)
        return await self._copies.make(context.session, name, source, places.root)

    def _chosen(self, said: str) -> str:
        """The configured model that is called so, with its provider or without. Raises Rejected
        for any other: a guess would be paid for."""
        for name in self._models():
            if said in (name, name.partition(":")[2]):
                return self._choose(name)
        raise Rejected("it is not in the settings")

    def _models(self) -> tuple[str, ...]:
        """Names that a model may choose from: all that the settings name."""
        model, wanted = self._settings.model, self._settings.delegation.model
        every = [f"{one.provider}:{one.name}" for one in (model, *model.fallbacks) if one.name]
        more = (self._settings.agent.small_model, wanted, *self._settings.prices)
        return tuple(dict.fromkeys([*every, *(name for name in more if ":" in name)]))


def _changes(copy: str, diff: str) -> str:
    """What was changed in a copy of the folder, for the model that asked for it."""
    if not diff.strip():
        return f"[It changed nothing in its copy, {copy}.]"
    return f"[Its changes, in the copy {copy}; the folder itself is as it was:]\n{diff}"
