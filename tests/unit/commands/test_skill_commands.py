"""`/skills` and `/<skill>`: a skill becomes a message, and the owner decides about proposals."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes.commands.skills import (
    OWNER_ONLY,
    USAGE,
    declared,
    live_busy,
    live_commands,
    skills_command,
)
from hermes.core import events as e
from hermes.core.channel import Command
from hermes.core.people import Role
from hermes.core.rules import Busy
from hermes.core.session import Running
from hermes.gateway.plan import AsyncCommand, Planner
from hermes.skills.library import SkillLibrary
from tests.unit.commands.chats import GROUP, GROUP_ADDRESS, Town
from tests.unit.skills.workshop import Workshop, folder, skill_md


@dataclass
class SkilledTown(Town):
    """A town whose chats know skills."""

    workshop: Workshop | None = None

    @property
    def shelf(self) -> SkillLibrary:
        assert self.workshop is not None
        return self.workshop.shelf()

    @property
    def fixed(self) -> Mapping[str, Command]:
        return {**self.commands, "/skills": skills_command(self.shelf)}

    @property
    def planner(self) -> Planner:
        plain = super().planner
        busy = live_busy(self.fixed, self.shelf)
        return replace(
            plain,
            rules=replace(plain.rules, commands=busy),
            commands=live_commands(self.fixed, self.shelf),
        )


@pytest.fixture
def skilled(workshop: Workshop) -> SkilledTown:
    folder(workshop.builtin, {"references/a.md": "deep"}, "daily-brief")
    return SkilledTown(workshop=workshop)


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def changed(file: Path) -> None:
    file.chmod(0o600)
    file.write_text(skill_md("other", body="Evil.\n"))


async def test_a_skill_becomes_a_message_of_the_same_person(skilled: SkilledTown) -> None:
    chat = await skilled.chat()
    assert await chat.say("/daily-brief for tomorrow") == []
    assert isinstance(chat.session.phase, Running)
    [row] = chat.rows
    assert row.text.startswith("Use the skill daily-brief: for tomorrow\n")
    assert "First this, then that." in row.text
    assert row.text.endswith("</skill>")
    assert chat.turn.sender == "ann"
    assert [r.uses for r in skilled.shelf.rows()] == [1]


async def test_sup_01_the_words_of_an_installed_skill_are_not_those_of_who_asks_for_it(
    skilled: SkilledTown,
) -> None:
    chat = await skilled.chat()
    assert skilled.workshop is not None
    skilled.workshop.install("theirs")
    await chat.say("/theirs now")
    assert chat.session.view.labels == ("untrusted",)
    assert chat.turn.words == ""


async def test_without_words_and_with_an_underscore_it_is_the_same(skilled: SkilledTown) -> None:
    chat = await skilled.chat()
    await chat.say("/daily_brief")
    assert chat.rows[0].text.startswith("Use the skill daily-brief.\n")


async def test_a_skill_that_was_just_made_works_at_once(skilled: SkilledTown) -> None:
    chat = await skilled.chat()
    await chat.say("/mine")
    await chat.answer("what is /mine?")
    assert chat.rows[0].text == "/mine"
    assert skilled.workshop is not None
    folder(skilled.workshop.home, name="mine")
    await chat.say("/mine now")
    assert chat.rows[-1].text.startswith("Use the skill mine: now")
    await chat.answer("done")
    skilled.shelf.switch("mine", on=False)
    await chat.say("/mine again")
    assert chat.rows[-1].text == "/mine again"


async def test_c60_it_waits_for_a_running_turn_as_any_message_does(skilled: SkilledTown) -> None:
    chat = await skilled.chat()
    await chat.say("hello")
    await chat.say("/daily-brief")
    assert [inbound.text[:13] for inbound in chat.session.waiting] == ["Use the skill"]
    await chat.answer("hi")
    assert chat.rows[-1].text.startswith("Use the skill daily-brief.")


async def test_killed_before_its_commit_it_is_one_message_with_the_same_id(
    skilled: SkilledTown,
) -> None:
    chat = await skilled.chat()
    await chat.say("hello")
    before = chat.session
    await chat.say("/daily-brief")
    first, second = [x.inbound for x in chat.events if isinstance(x, e.MessageReceived)][1:]
    plan = skilled.planner.plan(replace(before, waiting=(first,)), (), epoch=1, reached=False)
    [errand] = plan.launches
    assert isinstance(errand, AsyncCommand)
    assert errand.command.run_async is not None
    again = await errand.command.run_async(errand.call, skilled.context)
    [received] = again.events
    assert isinstance(received, e.MessageReceived)
    assert (received.inbound.id, received.inbound.text) == (second.id, second.text)
    assert [row.uses for row in skilled.shelf.rows()] == [1]


async def test_skills_are_listed_viewed_and_run_by_name(skilled: SkilledTown) -> None:
    chat = await skilled.chat()
    assert await chat.say("/skills") == ["/daily-brief (built in): Does good things"]
    [text] = await chat.say("/skills view daily-brief")
    assert "First this" in text
    assert await chat.say("/skills zzz") == [USAGE]
    [said] = await chat.say("/skills run nothing")
    assert said.startswith("there is no skill nothing")
    await chat.say("/skills run daily-brief please")
    assert chat.rows[-1].text.startswith("Use the skill daily-brief: please")


async def test_a_changed_skill_is_refused_with_a_sentence(skilled: SkilledTown) -> None:
    assert skilled.workshop is not None
    skilled.workshop.install("other")
    changed(Path(skilled.shelf.shown("other").folder) / "SKILL.md")
    chat = await skilled.chat()
    [said] = await chat.say("/other")
    assert "changed after it was approved" in said
    assert chat.rows == []
    [listed] = await chat.say("/skills")
    assert "other is not loaded:" in listed


async def test_a_proposal_is_shown_with_buttons_approved_and_undone(skilled: SkilledTown) -> None:
    assert skilled.workshop is not None
    id_ = await skilled.workshop.propose()
    chat = await skilled.chat()
    [listed] = await chat.say("/skills")
    assert f"- {id_}: create mine: it took long" in listed
    [diff] = await chat.say(f"/skills diff {id_}")
    assert "+First this, then that." in diff
    assert chat.replies[-1].buttons == (
        ("Approve", f"/skills approve {id_}"),
        ("Reject", f"/skills reject {id_}"),
    )
    [said] = await chat.say(f"/skills approve {id_}")
    assert said.startswith("mine is active (")
    assert skilled.shelf.names() == {"daily-brief", "mine"}
    assert await chat.say("/skills undo mine") == ["mine is removed: it has no earlier version."]
    assert await chat.say("/skills disable daily-brief") == ["daily-brief is disabled."]
    assert await chat.say("/skills enable daily-brief") == ["daily-brief is enabled."]


async def test_in_a_group_nobody_decides_but_the_owner(skilled: SkilledTown) -> None:
    assert skilled.workshop is not None
    id_ = await skilled.workshop.propose()
    skilled.roles["bob"] = Role.PAIRED
    chat, alone = await skilled.chat(GROUP, GROUP_ADDRESS), await skilled.chat()
    for word in ("approve", "reject", "undo", "disable", "enable"):
        assert await chat.say(f"/skills {word} {id_}", by="ann") == [OWNER_ONLY]
        assert await alone.say(f"/skills {word} {id_}", by="bob") == [OWNER_ONLY]
    assert await alone.say(f"/skills reject {id_}", by="ann") == ["Rejected: mine."]


def test_fixed_commands_win_over_skills_of_the_same_name(skilled: SkilledTown) -> None:
    assert skilled.workshop is not None
    folder(skilled.workshop.home, name="stop")
    fixed = {"/stop": Command(name="/stop", busy=Busy.LATER, summary="Stop")}
    commands, busy = live_commands(fixed, skilled.shelf), live_busy(fixed, skilled.shelf)
    assert commands["/stop"] is fixed["/stop"]
    assert (busy["/stop"], busy["/daily-brief"]) == (Busy.LATER, Busy.NOW)
    assert (busy.get(""), busy.get("/zzz"), busy.get("daily-brief")) == (None, None, None)
    assert list(commands) == ["/stop", "/daily-brief"]
    assert len(commands) == 2
    [one] = declared(skilled.shelf, fixed)
    assert (one.name, one.summary, one.argument) == ("/daily-brief", "Does good things", "[TEXT]")
