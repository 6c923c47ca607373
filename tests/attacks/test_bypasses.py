"""SBX-2: commands that no reader of commands would all recognise leave no damage in a box."""

from pathlib import Path
from shlex import quote

import pytest

from hermes.core.errors import ToolFailed
from hermes.ports.sandbox import Sandbox
from tests.attacks.victim import (
    CANARY,
    Attack,
    Victim,
    attacks,
    boxed,
    lacks,
    made,
    sandbox_of,
    unboxed,
)

BATCH = 20
LEFT_BEHIND = "here k t n b harmless disk mem stolen hermes.db .old"


def test_the_attacks_are_real_without_a_box(tmp_path: Path) -> None:
    idle = []
    for attack in attacks():
        if not attack.verify or lacks(attack):
            continue
        victim = made(tmp_path / attack.id)
        before = victim.state()
        said = unboxed(victim, attack.command)
        if victim.state() == before and CANARY not in said:
            idle.append(attack.id)
    assert idle == [], "these do nothing, so they prove nothing"


def batches(kind: str) -> list[list[Attack]]:
    """Return the attacks in batches. Plain Landlock cannot guard files that run later; its probe
    says so."""
    listed = [one for one in attacks() if kind != "landlock-plain" or one.kind != "trap"]
    return [listed[at : at + BATCH] for at in range(0, len(listed), BATCH)]


def script(batch: list[Attack]) -> str:
    """Return one script for a batch, each attack in its own shell: one box each would take a
    minute."""
    each = [f"rm -rf {LEFT_BEHIND}; timeout 1 bash -c {quote(one.command)}" for one in batch]
    return "\n".join([*each, "echo tried them all"])


def test_sbx_02_no_attack_leaves_damage(
    kind: str, sandbox: Sandbox, victim: Victim, tmp_path: Path
) -> None:
    before = victim.state()
    for batch in batches(kind):
        said = boxed(sandbox, victim, script(batch)).text
        assert "tried them all" in said
        if victim.state() == before and CANARY not in said:
            continue
        for attack in batch:  # which one was it?
            fresh = made(tmp_path / attack.id)
            whole = fresh.state()
            said = boxed(sandbox_of(kind, fresh), fresh, attack.command).text
            assert fresh.state() == whole, f"{attack.id} {attack.harm}"
            assert CANARY not in said, f"{attack.id} {attack.harm}"
        pytest.fail("together they leave damage, each alone does not")


def test_a_harmless_command_does_its_work_in_the_box(sandbox: Sandbox, victim: Victim) -> None:
    said = boxed(sandbox, victim, "echo new > made; mkdir -p a/b; mv made a/b; cat a/b/* README.md")
    assert said.text == "new\n# Read me\n"
    assert (victim.workspace / "a/b/made").read_text() == "new\n"


def test_the_read_profile_changes_nothing(sandbox: Sandbox, victim: Victim) -> None:
    said = boxed(sandbox, victim, "cat README.md; touch new; echo x >> README.md", "read")
    assert said.text.startswith("# Read me\n")
    assert sorted(entry.name for entry in victim.workspace.iterdir()) == sorted(
        [".envrc", ".git", ".vscode", "AGENTS.md", "README.md", "notes.txt"]
    )
    assert (victim.workspace / "README.md").read_text() == "# Read me\n"


def test_sbx_05_the_net_profile_is_refused_while_no_host_is_allowed(
    sandbox: Sandbox, victim: Victim
) -> None:
    with pytest.raises(ToolFailed, match="no network here: no host is allowed"):
        boxed(sandbox, victim, "true", "net")
