"""What the agent of a home has: tools, its prompt, and the commands that go with them.

Part of the composition root.
"""

import os
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hermes.agent.prompt import Overhead
from hermes.agent.toolsets import (
    CombinedToolset,
    FilteredToolset,
    ListedToolset,
    StaticToolset,
    beyond_role,
)
from hermes.app.models import has_small_profile
from hermes.app.platforms import Platforms, platforms_of
from hermes.app.prompts import Prompts, PromptSetting
from hermes.app.schedules import acts_of
from hermes.app.scripts import script_tools
from hermes.app.subagents import Subagents
from hermes.app.workspaces import idle_workspace
from hermes.commands.cron import cron_command
from hermes.commands.memory import memory_command
from hermes.commands.personality import personality_command
from hermes.commands.skills import skills_command
from hermes.core.channel import Command
from hermes.core.errors import Rejected
from hermes.core.ids import session_key
from hermes.core.messages import Reply
from hermes.core.people import Role
from hermes.core.policy import PolicySubject
from hermes.core.ports import PromptPart, Tool, ToolScope, Toolset
from hermes.egress.client import Fetcher
from hermes.egress.rules import EgressRules, openings
from hermes.lazy import Lazy, LazyModule
from hermes.memory.files import FileMemories
from hermes.memory.tool import memory_tool
from hermes.ports.memory import Memories
from hermes.ports.sandbox import profile_of
from hermes.ports.workspace import Workspace
from hermes.providers.profile import TOOLS as SMALL_TOOLS
from hermes.schedules.scripts import pinned_script
from hermes.schedules.tool import cronjob_tool
from hermes.settings import Settings
from hermes.settings.shape import ToolsSection
from hermes.settings.toolsets import refusal
from hermes.skills.index import index_part
from hermes.skills.library import SkillLibrary
from hermes.skills.remote import DOWNLOADS, Remote
from hermes.skills.tools import skill_tools
from hermes.tools.clarify import clarify_tool
from hermes.tools.defaults import default_tools
from hermes.tools.files.file_labels import FileLabels
from hermes.tools.script import JobScripts
from hermes.tools.web import web_extract_tool
from hermes.views.jobs import JobActs

if TYPE_CHECKING:
    from hermes.memory import mirror as memory_mirror
    from hermes.tools.shell import check as shell_check
    from hermes.tools.shell import paths as shell_paths
else:
    memory_mirror = LazyModule("hermes.memory.mirror")
    shell_check = LazyModule("hermes.tools.shell.check")
    shell_paths = LazyModule("hermes.tools.shell.paths")


SCRIPT_S = 3600.0  # how long a job's script may take, unless the job says otherwise


class AgentSetup(Struct, frozen=True, kw_only=True):
    workdir: str  # where a session is that has not gone elsewhere
    tools: Toolset
    prompts: Prompts
    skills: SkillLibrary
    complete_report: Callable[[Reply], Awaitable[Reply]]  # what else belongs to a subagent's report
    jobs: JobActs
    commands: Mapping[str, Sequence[Command]]  # by the heading under which /help lists them


def set_up_agent(
    home: Path,
    settings: Settings,
    platforms: Platforms,
    workspace: Workspace,
    switches: Callable[[], ToolsSection] | None = None,
    choose: Callable[[str], str] = str,
) -> AgentSetup:
    """Nothing is read yet but settings. `switches` tells what has been switched off since, `choose`
    what a model is called. Raises Misconfigured."""
    memories, library = memories_of(home, settings), skill_library(home, settings, os.environ)
    remembered = memories.snapshot if settings.memory.enabled else tuple

    def given(owners: bool) -> tuple[PromptPart, ...]:
        return (*(remembered() if owners else ()), index_part(library.rows()))

    prompts = _prompts(home, settings, platforms, workspace, given)
    hands = Subagents(settings, workspace, choose)
    jobs = acts_of(home, settings, lambda: [row.name for row in library.rows()])
    labels = FileLabels(home, workspace.files, time.time_ns, profile=workspace.terminal.usual)
    built_in = default_tools(
        workspace, timeout_s=settings.terminal.timeout_s, vouch=library.vouch, labels=labels
    )
    allowed = Lazy[Toolset](
        lambda: FilteredToolset(
            FilteredToolset(every, _switched_off(settings.tools, switches)), beyond_role
        )
    )
    scripts = script_tools(home, settings, workspace, allowed, labels)
    web = web_extract_tool(Fetcher(EgressRules(openings(settings.network.allow))))
    every = CombinedToolset(
        (
            StaticToolset((*built_in, web, hands.tool())),
            StaticToolset((memory_tool(memories),) if settings.memory.enabled else ()),
            StaticToolset((clarify_tool(settings.clarify.wait),)),
            StaticToolset(scripts),
            StaticToolset(skill_tools(library, agent_writes=settings.skills.agent_writes)),
            StaticToolset((cronjob_tool(jobs),) if settings.schedules.enabled else ()),
            JobScripts(
                workspace, lambda job: pinned_script(job, home / "schedules"), timeout_s=SCRIPT_S
            ),
        )
    )
    personality = personality_command(prompts.personalities, prompts.default)
    ours = (personality, memory_command(memories))
    return AgentSetup(
        workdir=workspace.places.root,
        tools=ListedToolset(
            allowed(),
            lambda scope: SMALL_TOOLS if has_small_profile(settings, scope.model) else (),
        ),
        prompts=prompts,
        skills=library,
        complete_report=hands.complete,
        jobs=jobs,
        commands={"Agent": (*ours, skills_command(library), cron_command(jobs))},
    )


def _prompts(
    home: Path,
    settings: Settings,
    platforms: Platforms,
    workspace: Workspace,
    given: Callable[[bool], tuple[PromptPart, ...]],
) -> Prompts:
    return Prompts(
        home=home,
        workspace=workspace,
        settings=settings,
        hints={channel.manifest.name: channel.manifest.hints for channel in platforms.channels},
        given=given,
        clock=time.time,
        is_small=lambda model: has_small_profile(settings, model),
    )


def _switched_off(
    begun: ToolsSection, now: Callable[[], ToolsSection] | None
) -> Callable[[str, Tool, ToolScope], str]:
    """Return what the settings turn off, at the start or now. So turning off takes effect at once,
    and turning on with the next start, which records it in the audit log first."""

    def why(name: str, _tool: Tool, scope: ToolScope) -> str:
        sections = (begun, now()) if now is not None else (begun,)
        found = (refusal(each, name, scope.platforms, scope.only) for each in sections)
        return next(filter(None, found), "")

    return why


def command_judge(
    home: Path, settings: Settings, workdir: Path, folders: Collection[str] = ()
) -> Callable[[str], tuple[str, str, str]]:
    """Return verdict, effect and reason for a shell command there. Nothing is run. `folders` are
    those whose code the owner allowed."""
    root = str(Path(settings.terminal.workdir or workdir).expanduser().absolute())
    place = shell_paths.CommandPlace(
        root=root, cwd=root, home=str(Path.home()), guarded=(str(home.absolute()),)
    )

    terminal = settings.terminal
    closed = profile_of(terminal.sandbox, terminal.allow_hosts) == "write"

    def judged(command: str) -> tuple[str, str, str]:
        found = shell_check.check_command(command, place)
        verdict, why = type(found.verdict).__name__.lower(), found.why
        if closed and found.boxed and root in folders:
            verdict, why = "allow", "you allowed the code of this folder"
        elif closed and found.boxed:
            why = f"{why}. You can allow the code of this folder once"
        return verdict, found.effect.value, why

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

    return memory_mirror.MirroredMemories


def skill_library(home: Path, settings: Settings, environ: Mapping[str, str]) -> SkillLibrary:
    return SkillLibrary(
        home / "skills",
        environ=environ,
        clock=time.time,
        disabled=settings.skills.disabled,
        remote=Remote(Fetcher(EgressRules(openings(settings.network.allow)), limits=DOWNLOADS)),
    )


async def prompt_parts(home: Path, settings: Settings, workdir: Path, platform: str) -> Overhead:
    """What a conversation that begins there now is told first. Raises Rejected."""
    platforms = platforms_of(home, settings)
    workspace = idle_workspace(home, settings, workdir)
    try:
        names = [channel.manifest.name for channel in platforms.channels]
        if platform not in names:
            raise Rejected(f"{platform!r} is not set up here. Choose one of: {', '.join(names)}")
        made = set_up_agent(home, settings, platforms, workspace)
        parts, labels, _ = made.prompts.parts(
            PromptSetting(
                platform=platform, workdir=made.workdir, small=has_small_profile(settings, "")
            )
        )
        scope = ToolScope(
            session=session_key(platform, "dm", "new"),
            platforms=frozenset({platform}),
            subject=PolicySubject(Role.OWNER),
        )
        specs = tuple(tool.spec for tool in await made.tools.tools_for(scope))
        return Overhead(parts=parts, tools=specs, labels=labels)
    finally:
        for close in (*platforms.closing, workspace.close):
            await close()
