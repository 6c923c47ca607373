"""`/personality` in a chat: listed, chosen, left, and never a broken conversation."""

from dataclasses import dataclass, field

from hermes.commands.personality import personality_command
from hermes.core import events as e
from hermes.core.channel import Command
from tests.unit.commands.chats import Chat, Town

KNOWN = {"warm": "Be friendly.", "pirate": "Talk like a sailor. " * 20}


@dataclass
class Tavern(Town):
    """A town where people may choose how Hermes speaks."""

    default: str = ""
    known: dict[str, str] = field(default_factory=lambda: dict(KNOWN))

    @property
    def commands(self) -> dict[str, Command]:
        command = personality_command(self.known, self.default)
        return {**super().commands, command.name: command}


def facts_set(chat: Chat) -> list[tuple[str, str]]:
    return [(x.name, x.value) for x in chat.events if isinstance(x, e.FactSet)]


async def test_they_are_listed_each_on_one_short_line() -> None:
    chat = await Tavern().chat()
    [told] = await chat.say("/personality")
    first, warm, pirate = told.splitlines()
    assert first.startswith("No personality is set here. /personality NAME")
    assert warm == "warm: Be friendly."
    assert pirate.startswith("pirate: Talk like a sailor.")
    assert len(pirate) < 80
    assert facts_set(chat) == []


async def test_one_is_chosen_and_the_prompt_is_made_anew() -> None:
    chat = await Tavern().chat()
    await chat.record(e.FactSet("prompt", "digest", 1.0))
    assert await chat.say("/personality PIRATE") == ["From now on: pirate."]
    assert chat.session.facts.personality == "pirate"
    assert not chat.session.facts.prompt
    [told] = await chat.say("/personality")
    assert told.startswith("The personality here is pirate.")
    await chat.say("/new")
    assert chat.session.facts.personality == "pirate", "it is the chat's, not the conversation's"


async def test_none_goes_without() -> None:
    chat = await Tavern().chat()
    await chat.say("/personality warm")
    [told] = await chat.say("/personality none")
    assert told == "The personality is now off."
    assert not chat.session.facts.personality
    before = len(facts_set(chat))
    assert "Nothing was changed." in (await chat.say("/personality none"))[0]
    assert len(facts_set(chat)) == before, "the prompt stays when nothing changes"


async def test_the_default_can_be_left_and_taken_again() -> None:
    chat = await Tavern(default="warm").chat()
    assert (await chat.say("/personality"))[0].startswith("The personality here is warm.")
    await chat.say("/personality none")
    assert chat.session.facts.personality == "none"
    assert (await chat.say("/personality"))[0].startswith("No personality is set")
    await chat.say("/personality warm")
    assert not chat.session.facts.personality, "it follows the settings again"


async def test_an_unknown_one_is_answered_with_the_list_and_changes_nothing() -> None:
    chat = await Tavern().chat()
    await chat.record(e.FactSet("prompt", "digest", 1.0))
    [told] = await chat.say("/personality dragon\x00\n" + "x" * 500)
    assert told.startswith("There is no personality “dragon xxx")
    assert "warm: Be friendly." in told
    assert len(told) < 400
    assert chat.session.facts.prompt == "digest"


async def test_one_that_is_gone_from_the_settings_is_said_to_be() -> None:
    tavern = Tavern(known={**KNOWN, "butler": "Very well."})
    chat = await tavern.chat()
    await chat.say("/personality butler")
    del tavern.known["butler"]
    [told] = await chat.say("/personality")
    assert told.startswith("The personality here is butler, which is no longer in the settings.")


async def test_a_long_list_is_cut() -> None:
    chat = await Tavern(known={f"p{n}": "x" * 400 for n in range(100)}).chat()
    [told] = await chat.say("/personality")
    assert told.endswith("… and 60 more")
    assert len(told) < 4_096, "one message of the tightest platform"
