"""List the tools, and turn them on and off."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hermes.cli.config.file import with_setting
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, UsageError
from hermes.cli.prompt.parts import Compose
from hermes.core.budget import tokens_of
from hermes.core.ports import ToolSpec
from hermes.settings import Settings, prepare
from hermes.settings.check import closest
from hermes.settings.home import CONFIG
from hermes.settings.shape import ToolsSection
from hermes.settings.sources import read_config, read_text
from hermes.settings.toolsets import TOOLSETS, offered
from hermes.views.files import whole_file

if TYPE_CHECKING:
    from argparse import ArgumentParser


HERE = "local"


class ToolsSwitchOptions:
    names: list[str]
    platform: str | None


def switch_arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="a toolset or a single tool")
    parser.add_argument(
        "--platform", metavar="NAME", help="only on this platform; otherwise everywhere"
    )


def switch_tools(
    options: ToolsSwitchOptions, context: CliContext, compose_for: Compose, *, on: bool
) -> int:
    settings = context.settings()
    tools = [spec.name for spec in tool_specs(context, settings, compose_for)]
    known = {*TOOLSETS, *tools, *settings.tools.disabled}
    for name in options.names:
        if name not in known:
            near = closest(name, known)
            meant = f"Did you mean {near}?" if near else "See: hermes tools"
            raise UsageError(f"there is no toolset or tool “{name}”. {meant}")
    if options.platform not in (None, HERE, *settings.platforms):
        context.console.tell(
            f"{options.platform} is not set up here yet; this applies as soon as it is."
        )
    path: tuple[str, ...] = ("tools", "disabled")
    before = settings.tools.disabled
    if options.platform is not None:
        path = ("tools", "platforms", options.platform, "disabled")
        there = settings.tools.platforms.get(options.platform)
        before = there.disabled if there is not None else ()
    _save(context, path, _after(before, options.names, on=on))
    new = context.settings()
    shown = options.platform or HERE
    cost = sum(
        tokens_of(spec.name + spec.description + spec.parameters)
        for spec in tool_specs(context, new, compose_for)
        if offered(new.tools, spec.name, shown)
    )
    where = f"on {options.platform}" if options.platform else "everywhere"
    context.console.say(f"{', '.join(options.names)}: {'on' if on else 'off'} {where}")
    context.console.tell(f"A request on {shown} carries {cost:,} tokens of tools now.")
    if on:
        _warn_when_still_off(context, new, options)
    return DONE


def _after(before: Sequence[str], names: Sequence[str], *, on: bool) -> list[str]:
    kept = [name for name in before if name not in names]
    return kept if on else [*kept, *dict.fromkeys(names)]


def _save(context: CliContext, path: tuple[str, ...], names: list[str]) -> None:
    file = context.home / CONFIG
    read_config(file)
    prepare(context.home)
    whole_file(file.resolve(), with_setting(read_text(file), path, names or None).encode())


def _warn_when_still_off(
    context: CliContext, settings: Settings, options: ToolsSwitchOptions
) -> None:
    off = [
        name
        for name in options.names
        if not offered(settings.tools, name, options.platform or HERE)
    ]
    if off:
        fix = f"hermes tools enable {' '.join(off)}"
        context.console.tell(f"{', '.join(off)} is still off everywhere. Run: {fix}")


def tool_specs(context: CliContext, settings: Settings, compose_for: Compose) -> Sequence[ToolSpec]:
    """Return the specs of all tools, including those that are off."""

    async def composed() -> Sequence[ToolSpec]:
        everything = replace(settings, tools=ToolsSection())
        return (await compose_for(context.home, everything, Path.cwd(), HERE)).tools

    return asyncio.run(composed())
