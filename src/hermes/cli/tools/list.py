"""hermes tools list: list toolsets and what each costs in tokens."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.options import json_option
from hermes.cli.prompt.parts import Compose, with_prompt_parts
from hermes.cli.tools.switching import tool_specs
from hermes.core.budget import tokens_of
from hermes.settings.toolsets import offered, toolset_of

if TYPE_CHECKING:
    from argparse import ArgumentParser


class ToolsListOptions(JsonOptions):
    platform: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--platform",
        default="local",
        metavar="NAME",
        help="show it for this platform (default: local)",
    )
    json_option(parser)


def run(options: ToolsListOptions, context: CliContext, compose_for: Compose) -> int:
    settings = context.settings()
    specs = tool_specs(context, settings, compose_for)
    groups = _grouped(spec.name for spec in specs)
    costs = {spec.name: tokens_of(spec.name + spec.description + spec.parameters) for spec in specs}
    on = {spec.name: offered(settings.tools, spec.name, options.platform) for spec in specs}
    if options.json:
        context.console.document(
            {
                "platform": options.platform,
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
    context.console.table(("TOOLSET", "STATE", "TOKENS", "TOOLS"), rows)
    total = sum(costs[tool] for tool in costs if on[tool])
    context.console.say(f"\nEach request on {options.platform} carries {total:,} tokens of tools.")
    context.console.tell("Change it: hermes tools disable NAME [--platform PLATFORM]")
    return DONE


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


COMMAND = CliCommand(
    options=ToolsListOptions,
    run=with_prompt_parts(run),
    arguments=_arguments,
)
