"""“Yes, for this folder”, from outside: what one answer covers, and what it never does.

It is for code in the closed box of the owner's own folder, where private files are hidden. It is
suspended by strangers' words, and nothing that deletes, sends or loses content is part of it.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hermes.ports.sandbox import Sandbox
from hermes.terminals.local import LocalTerminal
from hermes.testing.model import Model
from tests.attacks.test_approvals import asked, questions
from tests.attacks.test_session_grants import furnish, must_ask, obeys
from tests.attacks.test_taint import site
from tests.attacks.victim import Victim
from tests.process.gateway import GatewayProcess, gateway
from tests.process.looks import idle, tried

CODE = (
    "python3 -c 'print(6 * 7)'",
    "python3 -m unittest -q 2>&1 | tail -3",
    "make -s test",
    "A=1 python3 other.py",
    "bash -c 'echo in bash'",
    "git init -q . && git add other.py && git -c user.name=a -c user.email=a commit -m first",
)
NEVER = (  # tests/unit/tools/shell/test_boxed_code.py has more
    "rm other.py",
    "git push",
    "python3 -c 'print(1)' > other.py",
    "python3 other.py; rm other.py",
)


async def allowed_for_folder(here: GatewayProcess, command: str) -> Any:
    saying = asyncio.create_task(tried(here, f"run {command}", key="first"))
    [question] = await asked(here)
    await here.post(f"/v1/approvals/{question['id']}", answer="folder")
    await idle(here)
    saying.cancel()
    return question


async def verdicts(here: GatewayProcess, *commands: str) -> list[str]:
    """As `hermes policy check` tells them in the gateway's workspace."""
    here.configure(terminal={"workdir": str(here.home / "workspace")})
    rows = [await here.hermes("policy", "check", "--json", command) for command in commands]
    return [row["verdict"] for row in rows]


async def test_pol_07_a_yes_for_the_folder_is_for_its_code_and_for_nothing_else(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        obeys(model)
        furnish(here)
        workspace = here.home / "workspace"
        (workspace / ".env").write_text("TOKEN=canary-of-the-folder\n")
        (workspace / "Makefile").write_text("test:\n\t@echo made it\n")
        await here.start()
        question = await allowed_for_folder(here, "python3 work.py")
        assert "“For this folder” (30 days) allows: any code there" in question["preview"]
        assert str(workspace) in question["preview"]
        await here.kill()
        await here.start()
        said = [(await here.say(f"run {command}", "another")).text for command in CODE]
        assert await questions(here) == []
        for text, expected in zip(
            said, ("42", "Ran 0 tests", "made it", "exit status 0", "in bash", "first"), strict=True
        ):
            assert expected in text
        hidden = await here.say("run python3 -c 'print(open(\".env\").read())'")
        assert "canary-of-the-folder" not in hidden.text
        assert "exit status 0" in hidden.text, "it looks empty"
        for command in NEVER:
            await must_ask(here, command)
        assert await verdicts(here, "pytest -q", "rm other.py") == ["allow", "ask"]
        [grant] = await here.hermes("approvals", "grants", "--json")
        assert grant["what"] == f"any code in {workspace}"
        await here.hermes("approvals", "revoke", grant["id"], "--json")
        await must_ask(here, "python3 -c 'print(1)'")
        assert await verdicts(here, "pytest -q", "ls") == ["ask", "allow"]


async def test_pol_07_strangers_words_suspend_a_yes_for_the_folder(tmp_path: Path) -> None:
    async with site(tmp_path) as (here, model):
        reads = model.rule
        obeys(model)
        runs = model.rule
        model.rule = lambda given: (runs if given.said.startswith("run ") else reads)(given)
        furnish(here)
        await here.start()
        await allowed_for_folder(here, "python3 work.py")
        assert "exit status 0" in (await here.say("run python3 other.py")).text
        await here.say("read")
        question = await must_ask(here, "python3 other.py")
        assert "For this folder" not in question["preview"]


@pytest.mark.setting("terminal.allow_hosts")
async def test_pol_07_with_a_way_out_there_is_no_yes_for_the_folder(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        obeys(model)
        furnish(here)
        await here.start()
        await allowed_for_folder(here, "python3 work.py")
        here.configure(terminal={"allow_hosts": ["files.example"]})
        await here.kill()
        await here.start()
        question = await must_ask(here, "python3 work.py")
        assert "For this folder" not in question["preview"]


def test_pol_07_only_a_whole_box_offers_it(kind: str, sandbox: Sandbox, victim: Victim) -> None:
    terminal = LocalTerminal(victim.ours / "calls", environ={}, sandbox=sandbox)
    assert terminal.is_whole() == (kind != "landlock-plain")
    open_box = LocalTerminal(victim.ours / "calls", environ={}, sandbox=sandbox, usual="net")
    assert not open_box.is_whole()
    assert not LocalTerminal(victim.ours / "calls", environ={}).is_whole()
