"""What the agent of a home is equipped with: tools, its prompt, and commands that go with them.

Part of the composition root.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from hermes.agent.prompt import Overhead
from hermes.commands.memory import memory_command
from hermes.commands.personality import personality_command
from hermes.commands.skills import skills_command
from hermes.core.channel import Command
from hermes.core.errors import Rejected
from hermes.core.ports import Tool
from hermes.egress.client import Fetcher
from hermes.egress.rules import Rules, openings
from hermes.memory.files import FileMemories
from hermes.memory.tool import memory_tool
from hermes.platforms import Platforms, platforms_of
from hermes.prompts import Prompts, Setting
from hermes.settings import Settings
from hermes.settings.toolsets import offered
from hermes.skills.index import index_part
from hermes.skills.remote import DOWNLOADS, Remote
from hermes.skills.shelf import Shelf
from hermes.skills.tools import skill_tools
from hermes.terminals.local import LocalTerminal
from hermes.tools.defaults import default_tools
from hermes.tools.web import web_extract_tool
from hermes.views.memory import Memories
from hermes.views.terminal import Terminal


class Equipment(Struct, frozen=True, kw_only=True):
    workdir: str  # where a session is that has not gone elsewhere
    tools: Sequence[Tool]
    prompts: Prompts
    shelf: Shelf
    commands: Mapping[str, Sequence[Command]]  # by the heading under which /help lists them


def equipment(
    home: Path, settings: Settings, platforms: Platforms, terminal: Terminal, workdir: Path
) -> Equipment:
    """Nothing is read yet but settings. Raises Misconfigured."""
    where = str(Path(settings.terminal.workdir or workdir).expanduser().absolute())
    memories, shelf = memories_of(home, settings), skill_shelf(home, settings, os.environ)
    remembered = memories.snapshot if settings.memory.enabled else tuple
    prompts = Prompts(
        home=home,
        user_home=Path.home(),
        settings=settings,
        workdir=where,
        hints={channel.manifest.name: channel.manifest.hints for channel in platforms.channels},
        given=lambda owners: (*(remembered() if owners else ()), index_part(shelf.rows())),
        clock=time.time,
    )
    tools = default_tools(
        terminal,
        workdir=where,
        home=str(Path.home()),
        guarded=(str(home.absolute()),),
        timeout_s=settings.terminal.timeout_s,
        vouch=shelf.vouch,
    )
    tools = (*tools, web_extract_tool(Fetcher(Rules(openings(settings.network.allow)))))
    if settings.memory.enabled:
        tools = (*tools, memory_tool(memories))
    tools = (*tools, *skill_tools(shelf, agent_writes=settings.skills.agent_writes))
    personality = personality_command(prompts.personalities, prompts.default)
    return Equipment(
        workdir=where,
        tools=tools,
        prompts=prompts,
        shelf=shelf,
        commands={"Agent": (personality, memory_command(memories), skills_command(shelf))},
    )


def command_judge(
    home: Path, settings: Settings, workdir: Path
) -> Callable[[str], tuple[str, str, str]]:
    """Verdict, effect and reason for a shell command there. Nothing is run."""
    from hermes.tools.shell_paths import Place
    from hermes.tools.shell_verdict import judge

    root = str(Path(settings.terminal.workdir or workdir).expanduser().absolute())
    place = Place(root=root, cwd=root, home=str(Path.home()), guarded=(str(home.absolute()),))

    def judged(command: str) -> tuple[str, str, str]:
        found = judge(command, place)
        return type(found.verdict).__name__.lower(), found.effect.value, found.why

    return judged


def memories_of(home: Path, settings: Settings) -> Memories:
    return _memories(settings.memory.provider)(
        home / "memories",
        memory_chars=settings.memory.memory_chars_max,
        user_chars=settings.memory.user_chars_max,
        clock=time.time,
    )


def _memories(provider: str) -> type[FileMemories]:
    if provider != "honcho":
        return FileMemories
    from hermes.memory.mirror import MirroredMemories

    return MirroredMemories


def skill_shelf(home: Path, settings: Settings, environ: Mapping[str, str]) -> Shelf:
    return Shelf(
        home / "skills",
        environ=environ,
        clock=time.time,
        disabled=settings.skills.disabled,
        remote=Remote(Fetcher(Rules(openings(settings.network.allow)), limits=DOWNLOADS)),
    )


async def prompt_parts(home: Path, settings: Settings, workdir: Path, platform: str) -> Overhead:
    """What a conversation that begins there now is told first. Raises Rejected."""
    platforms = platforms_of(home, settings)
    terminal = LocalTerminal(home / "calls", environ={})
    try:
        names = [channel.manifest.name for channel in platforms.channels]
        if platform not in names:
            raise Rejected(f"{platform!r} is not set up here. There are: {', '.join(names)}")
        made = equipment(home, settings, platforms, terminal, workdir)
        parts, labels = made.prompts.parts(Setting(platform=platform, workdir=made.workdir))
        every = (tool.spec for tool in made.tools)
        specs = tuple(spec for spec in every if offered(settings.tools, spec.name, platform))
        return Overhead(parts=parts, tools=specs, labels=labels)
    finally:
        for close in (*platforms.closing, terminal.close):
            await close()
