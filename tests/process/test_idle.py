"""Which modules an idle gateway has loaded: receivers and the store, nothing else.

What only a turn needs is imported with the first turn; other commands' code never is.

Each module costs start-up time and, for as long as the gateway runs, memory. The counts may only go
down.
"""

from pathlib import Path

import pytest

from hermes.cli.registry import commands
from hermes.testing.model import Model
from tests.process.gateway import GatewayProcess, gateway

OURS_MAX, ALL_MAX = 268, 476
# Prefixes of names: a package of ours with everything in it, or a module of any package.
FOR_A_TURN = (
    *(
        "hermes.tools",
        "hermes.commands",
        "hermes.context",
        "hermes.summaries",
        "hermes.app.agent_setup",
    ),
    *("hermes.app.prompts", "hermes.app.costs", "hermes.egress.rules", "hermes.egress.client"),
    *("hermes.skills.library", "hermes.skills.scan", "hermes.skills.fetch", "hermes.skills.intake"),
    *("hermes.memory.files", "hermes.memory.tool", "hermes.views.chart", "hermes.views.svg"),
    *("hermes.providers.wire", "hermes.providers.served", "hermes.providers.local"),
    *("hermes.providers.scripted", "tree_sitter", "urllib.request"),
)
FOR_OTHER_WORDS = ("argparse", "gettext", "hermes.cli.parser", "hermes.cli.help_text")
COMMANDS = {entry.module for entry in commands()}


def loaded(here: GatewayProcess) -> set[str]:
    report = (here.folder / "gateway.out").read_text(encoding="utf-8").splitlines()
    lines = (line for line in report if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip() for line in lines}


def among(modules: set[str], names: tuple[str, ...]) -> set[str]:
    return {name for name in modules if f"{name}.".startswith(tuple(f"{n}." for n in names))}


async def test_what_only_a_turn_needs_is_loaded_by_the_first_turn(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        here.extra["PYTHONPROFILEIMPORTTIME"] = "1"
        await here.start()
        waiting = loaded(here)
        assert among(waiting, FOR_A_TURN) == set()
        assert among(waiting, FOR_OTHER_WORDS) == set()
        assert waiting & COMMANDS == {"hermes.cli.gateway.run"}
        assert len([name for name in waiting if name.partition(".")[0] == "hermes"]) <= OURS_MAX
        assert len(waiting) <= ALL_MAX
        assert (await here.say("hello")).status == 200
        assert "hermes.tools.terminal" in loaded(here)


@pytest.mark.parametrize(
    ("section", "wrong", "named"),
    [
        ("agent", {"personality": "nobody"}, "agent.personality"),
        ("agent", {"personalities": {"Two Words": "x"}}, "agent.personalities"),
        ("agent", {"trusted_dirs": ["somewhere"]}, "agent.trusted_dirs"),
        ("network", {"allow": ["a b"]}, "network.allow"),
        ("model", {"base_url": "no url"}, "model.base_url"),
        ("model", {"provider": "scripted", "name": "missing.yaml"}, "model.name"),
    ],
)
async def test_what_is_wrong_with_it_is_told_at_the_start_all_the_same(
    tmp_path: Path, section: str, wrong: dict[str, object], named: str
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        here.configure(**{section: wrong})
        await here.start(ready=False)
        assert here.child is not None
        assert await here.child.wait() == 78
        (line,) = here.output().strip().splitlines()
        assert line.startswith("hermes: ")
        assert named in line
