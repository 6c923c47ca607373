"""A desk with the default tools on it, in front of a real terminal: what a session would do."""

import asyncio
import json
import os
from pathlib import Path
from typing import cast

from hermes.core import channel
from hermes.core.ids import CallId, SessionKey, TurnId
from hermes.core.messages import Call, Effect
from hermes.core.ports import Tool, ToolContext, ToolResult
from hermes.core.signals import CallProgress, Glimpse
from hermes.terminals.local import LocalTerminal
from hermes.terminals.records import folders
from hermes.terminals.register import CommandLimits
from hermes.terminals.workspace import LocalWorkspace
from hermes.tools.defaults import default_tools


class Desk:
    """Makes the bench of each call and remembers facts, as the engine does."""

    def __init__(self, home: Path, *, timeout_s: float = 20.0, session: str = "s") -> None:
        self.place = home / "work place"
        self.place.mkdir(parents=True, exist_ok=True)
        self.calls = home / "calls"
        self.terminal = LocalTerminal(
            self.calls,
            environ=os.environ,
            limits=CommandLimits(grace_s=0.4, output_bytes=2 * 1024 * 1024),
        )
        self.workspace = LocalWorkspace(self.terminal, workdir=str(self.place), home=str(home))
        made = default_tools(self.workspace, timeout_s=timeout_s)
        self.tools: dict[str, Tool] = {tool.spec.name: tool for tool in made}
        self.session = SessionKey(session)
        self.facts: dict[str, str] = {}
        self.glimpses: list[Glimpse] = []
        self.made = 0

    def context(self, name: str, call: str = "", **arguments: object) -> ToolContext:
        self.made += 1
        made = Call(
            id=CallId(call or f"turn-{self.made}"), tool=name, arguments=json.dumps(arguments)
        )
        return ToolContext(
            session=self.session,
            turn=TurnId("turn"),
            call=made,
            facts=self.facts,
            labels=frozenset(),
            watch=self.glimpses.append,
            host=cast("channel.CommandContext", None),
        )

    async def do(self, name: str, call: str = "", **arguments: object) -> ToolResult:
        """Check and run; facts are kept. Raises ToolFailed as the tool does."""
        context = self.context(name, call, **arguments)
        assert self.tools[name].check(context.call.arguments) == ""
        result = await self.tools[name].run(context)
        self.facts.update(result.facts)
        return result

    async def recover(self, name: str, call: str, **arguments: object) -> ToolResult | None:
        recover = self.tools[name].recover
        assert recover is not None
        return await recover(self.context(name, call, **arguments))

    def check(self, name: str, **arguments: object) -> str:
        return self.tools[name].check(json.dumps(arguments))

    def effect(self, name: str, **arguments: object) -> Effect:
        return self.tools[name].effect(json.dumps(arguments))

    def watched(self) -> str:
        return "".join(g.text for g in self.glimpses if isinstance(g, CallProgress))

    async def clear(self) -> None:
        names = [CallId(folder.path.name) for folder in folders(self.calls)]
        await asyncio.gather(*(self.terminal.stop(name, "stopped") for name in names))
        await self.terminal.close()
