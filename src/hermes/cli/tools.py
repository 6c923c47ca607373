"""hermes tools: what the model is offered on each platform, and what being told of it costs."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from hermes.cli.config_file import with_setting
from hermes.cli.errors import DONE, Usage
from hermes.cli.place import Place
from hermes.cli.prompt import Compose
from hermes.cli.tools_grammar import List, Switch
from hermes.core.budget import tokens_of
from hermes.core.ports import ToolSpec
from hermes.settings import Settings, prepare
from hermes.settings.check import closest
from hermes.settings.home import CONFIG
from hermes.settings.shape import ToolsSection
from hermes.settings.sources import read_config, read_text
from hermes.settings.toolsets import TOOLSETS, offered, toolset_of
from hermes.views.files import whole_file

HERE = "local"


def run_list(given: List, place: Place, compose_for: Compose) -> int:
    settings = place.settings()
    specs = _specs(place, settings, compose_for)
    groups = _grouped(spec.name for spec in specs)
    costs = {spec.name: tokens_of(spec.name + spec.description + spec.parameters) for spec in specs}
    on = {spec.name: offered(settings.tools, spec.name, given.platform) for spec in specs}
    if given.json:
        place.console.document(
            {
                "platform": given.platform,
                "toolsets": [
                    {
                        "name": name,
                        "enabled": any(on[tool] for tool in tools),
                        "tokens": sum(costs[tool] for tool in tools),
                        "tools": [
                            {"name": tool, "enabled": on[tool], "tokens": costs[tool]}
                            for tool in tools
                        ],
                    }
                    for name, tools in groups.items()
                ],
                "tokens": sum(costs[tool] for tool in costs if on[tool]),
            }
        )
        return DONE
    rows = [
        (
            name,
            _state([on[t] for t in tools]),
            f"{sum(costs[t] for t in tools):>6,}",
            _names(tools, on),
        )
        for name, tools in groups.items()
    ]
    place.console.table(("TOOLSET", "STATE", "TOKENS", "TOOLS"), rows)
    total = sum(costs[tool] for tool in costs if on[tool])
    place.console.say(f"\nEach request on {given.platform} carries {total:,} tokens of tools.")
    place.console.tell("Change it: hermes tools disable NAME [--platform PLATFORM]")
    return DONE


def run_enable(given: Switch, place: Place, compose_for: Compose) -> int:
    return _switch(given, place, compose_for, on=True)


def run_disable(given: Switch, place: Place, compose_for: Compose) -> int:
    return _switch(given, place, compose_for, on=False)


def _switch(given: Switch, place: Place, compose_for: Compose, *, on: bool) -> int:
    settings = place.settings()
    tools = [spec.name for spec in _specs(place, settings, compose_for)]
    known = {*TOOLSETS, *tools, *settings.tools.disabled}
    for name in given.names:
        if name not in known:
            near = closest(name, known)
            meant = f"Did you mean {near}?" if near else "See: hermes tools"
            raise Usage(f"there is no toolset or tool “{name}”. {meant}")
    if given.platform not in (None, HERE, *settings.platforms):
        place.console.tell(f"{given.platform} is not set up here yet; it is kept for when it is.")
    path: tuple[str, ...] = ("tools", "disabled")
    before = settings.tools.disabled
    if given.platform is not None:
        path = ("tools", "platforms", given.platform, "disabled")
        there = settings.tools.platforms.get(given.platform)
        before = there.disabled if there is not None else ()
    _save(place, path, _after(before, given.names, on=on))
    new = place.settings()
    shown = given.platform or HERE
    cost = sum(
        tokens_of(spec.name + spec.description + spec.parameters)
        for spec in _specs(place, new, compose_for)
        if offered(new.tools, spec.name, shown)
    )
    where = f"on {given.platform}" if given.platform else "everywhere"
    place.console.say(f"{', '.join(given.names)}: {'on' if on else 'off'} {where}")
    place.console.tell(f"A request on {shown} carries {cost:,} tokens of tools now.")
    if on:
        _warn_when_still_off(place, new, given)
    return DONE


def _after(before: Sequence[str], names: Sequence[str], *, on: bool) -> list[str]:
    kept = [name for name in before if name not in names]
    return kept if on else [*kept, *dict.fromkeys(names)]


def _save(place: Place, path: tuple[str, ...], names: list[str]) -> None:
    file = place.home / CONFIG
    read_config(file)
    prepare(place.home)
    whole_file(file.resolve(), with_setting(read_text(file), path, names or None).encode())


def _warn_when_still_off(place: Place, settings: Settings, given: Switch) -> None:
    off = [
        name for name in given.names if not offered(settings.tools, name, given.platform or HERE)
    ]
    if off:
        fix = f"hermes tools enable {' '.join(off)}"
        place.console.tell(f"{', '.join(off)} is still off everywhere. Run: {fix}")


def _specs(place: Place, settings: Settings, compose_for: Compose) -> Sequence[ToolSpec]:
    """Of all tools, also of those that are off."""

    async def composed() -> Sequence[ToolSpec]:
        everything = replace(settings, tools=ToolsSection())
        return (await compose_for(place.home, everything, Path.cwd(), HERE)).tools

    return asyncio.run(composed())


def _grouped(tools: Iterable[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for tool in tools:
        groups.setdefault(toolset_of(tool), []).append(tool)
    return groups


def _state(on: Sequence[bool]) -> str:
    return "on" if all(on) else "some" if any(on) else "off"


def _names(tools: Sequence[str], on: dict[str, bool]) -> str:
    mixed = len({on[tool] for tool in tools}) > 1
    return ", ".join(f"{tool} (off)" if mixed and not on[tool] else tool for tool in tools)
