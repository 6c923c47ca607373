"""`/model`, `/sethome`, `/restart` and `/help`, and what all commands have in common."""

import pytest

from hermes.commands.words import ago, counted, first_words, lasting
from hermes.core import events as e
from hermes.core import step as s
from hermes.core.session import Running
from tests.unit.commands.chats import ADDRESS, DEFAULT_MODEL, Town

WANTED = {
    *("/status", "/platforms", "/sethome", "/restart", "/stop", "/steer", "/queue"),
    *("/background", "/resume", "/sessions", "/title", "/new", "/reset", "/retry", "/undo"),
    *("/model", "/approve", "/deny", "/help"),
}


async def test_the_model_is_shown_chosen_and_forgotten() -> None:
    chat = await Town().chat()
    [told] = await chat.say("/model")
    assert told.startswith(f"The model here is {DEFAULT_MODEL}, the default.")
    assert await chat.say("/model OTHER:Big") == ["From the next request on: other:big."]
    assert chat.session.facts["model"] == "other:big"
    await chat.say("/new")
    [told] = await chat.say("/model")
    assert told.startswith("The model here is other:big.")
    [told] = await chat.say("/model default")
    assert DEFAULT_MODEL in told
    assert "model" not in chat.session.facts


async def test_a_model_that_cannot_be_chosen_changes_nothing() -> None:
    chat = await Town().chat()
    await chat.say("/model other:big")
    assert await chat.say("/model nonsense") == ["It stays as it is: nonsense names no provider"]
    assert chat.session.facts["model"] == "other:big"


async def test_sethome_remembers_this_chat() -> None:
    chat = await Town().chat()
    [told] = await chat.say("/sethome")
    assert "home" in told
    assert [x.address for x in chat.events if isinstance(x, e.HomeSet)] == [ADDRESS]


async def test_c06_a_restart_is_asked_for_by_the_message_that_said_so() -> None:
    chat = await Town().chat()
    await chat.say("hello")
    [told] = await chat.say("/restart")
    assert "try to go on" in told
    [asked] = [x for x in chat.events if isinstance(x, e.RestartAsked)]
    [done] = [x for x in chat.events if isinstance(x, e.CommandRun)]
    assert asked.message == done.message
    assert isinstance(chat.session.phase, Running), "the turn may finish"


async def test_help_tells_what_the_commands_declare() -> None:
    town = Town()
    chat = await town.chat()
    [told] = await chat.say("/help")
    for command in town.commands.values():
        usage = f"{command.name} {command.argument}".strip()
        assert f"{usage}: {command.summary}." in told.splitlines()
    assert len(told) < 4_096, "one message of the tightest platform"


@pytest.mark.parametrize("name", ["steer", "/steer", "/STEER now"])
async def test_help_about_one_command(name: str) -> None:
    chat = await Town().chat()
    [told] = await chat.say(f"/help {name}")
    assert told == "/steer TEXT: Tell the running turn something without stopping it."
    assert await chat.say("/help dance") == ["There is no such command. /help lists all of them."]


async def test_a_word_that_is_no_command_is_a_message() -> None:
    chat = await Town().chat()
    assert await chat.say("/dance with me") == []
    assert isinstance(chat.then, s.AskModel)


def test_each_command_is_declared_once_and_can_be_run_in_one_way() -> None:
    town = Town()
    assert set(town.commands) >= WANTED
    for name, command in town.commands.items():
        assert name == command.name == name.lower()
        assert (command.run is None) != (command.look is None), name
        assert 3 <= len(command.summary) <= 100, name
        assert not command.summary.endswith("."), name


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "a moment"),
        (0.5, "a moment"),
        (1, "1 second"),
        (59.9, "59 seconds"),
        (60, "1 minute"),
        (7_199, "1 hour"),
        (172_800, "2 days"),
    ],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert lasting(seconds) == words
    assert ago(0, seconds) == ("just now" if seconds < 1 else f"{words} ago")


def test_first_words_are_one_printable_line() -> None:
    assert first_words(" a\n\tb\x00c ") == "a b c"
    assert first_words("x" * 100, 10) == "x" * 9 + "…"
    assert first_words("") == ""
    assert counted(1, "reply", "replies") == "1 reply"
    assert counted(2, "reply", "replies") == "2 replies"
