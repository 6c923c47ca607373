"""`/model`, `/sethome`, `/restart` and `/help`, and what all commands have in common."""

import pytest

from hermes.commands.words import ago, counted, first_words, lasting
from hermes.core import events as e
from hermes.core import step as s
from hermes.core.people import Role
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
    assert chat.session.facts.model == "other:big"
    await chat.say("/new")
    [told] = await chat.say("/model")
    assert told.startswith("The model here is other:big.")
    [told] = await chat.say("/model default")
    assert DEFAULT_MODEL in told
    assert not chat.session.facts.model


async def test_a_model_that_cannot_be_chosen_changes_nothing() -> None:
    chat = await Town().chat()
    await chat.say("/model other:big")
    assert await chat.say("/model nonsense") == ["Nothing was changed: nonsense names no provider"]
    assert chat.session.facts.model == "other:big"


async def test_sethome_remembers_this_chat() -> None:
    chat = await Town().chat()
    [told] = await chat.say("/sethome")
    assert "home" in told
    assert [x.address for x in chat.events if isinstance(x, e.HomeSet)] == [ADDRESS]


async def test_c06_a_restart_is_asked_for_by_the_message_that_said_so() -> None:
    chat = await Town().chat()
    await chat.say("hello")
    [told] = await chat.say("/restart")
    assert "try to resume" in told
    [asked] = [x for x in chat.events if isinstance(x, e.RestartAsked)]
    [done] = [x for x in chat.events if isinstance(x, e.CommandRun)]
    assert asked.message == done.message
    assert isinstance(chat.session.phase, Running), "the turn may finish"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [("model.provider: no model", "could not start: model"), (None, "No gateway")],
)
async def test_a_restart_that_cannot_be_is_told_and_not_asked_for(
    wrong: str | None, words: str
) -> None:
    chat = await Town(wrong=wrong).chat()
    [told] = await chat.say("/restart")
    assert words in told
    assert not [x for x in chat.events if isinstance(x, e.RestartAsked)]


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
    assert told == "/steer TEXT: Add a note to the running turn without stopping it."
    assert await chat.say("/help dance") == [
        "There is no command /dance. /help lists all commands."
    ]


async def test_a_word_that_is_no_command_is_corrected_and_not_sent_to_the_model() -> None:
    chat = await Town().chat()
    [told] = await chat.say("/stats please")
    assert told.startswith("There is no command /stats. Did you mean /status?")
    [told] = await chat.say("/dance with me")
    assert told.startswith("There is no command /dance. /help lists all commands.")
    assert isinstance(chat.then, s.Rest)


async def test_a_correction_names_no_command_that_the_person_may_not_give() -> None:
    chat = await Town(roles={"ann": Role.MEMBER}).chat()
    [told] = await chat.say("/restrat")
    assert "/restart" not in told


async def test_a_path_is_a_message() -> None:
    chat = await Town().chat()
    assert await chat.say("/etc/hosts is empty, why?") == []
    assert isinstance(chat.then, s.AskModel)


async def test_commands_of_the_window_are_listed_and_marked_as_such() -> None:
    chat = await Town().chat()
    [told] = await chat.say("/help")
    for name in ("/skin", "/keys", "/mode"):
        assert name in told.splitlines()[-2]
        assert await chat.say(name) == [
            f"{name} works only in the window: open it with hermes at a terminal. "
            "To send it as a message, put another word before it."
        ]
    assert "Only in the window" in (await chat.say("/help skin"))[0]


async def test_start_is_a_welcome_of_six_lines_with_three_suggestions() -> None:
    chat = await Town(roles={"ann": Role.MEMBER}).chat()
    [told] = await chat.say("/start")
    assert len(told.splitlines()) == 6
    assert "/help" in told
    assert told.splitlines()[-1].count("”") == 3


async def test_a_model_that_does_not_answer_is_not_kept() -> None:
    chat = await Town(dead_models=frozenset({"nosuch:x"})).chat()
    assert await chat.say("/model nosuch:x") == ["Nothing was changed: nosuch:x does not answer"]
    assert not chat.session.facts.model


async def test_a_restart_without_a_gateway_says_so() -> None:
    chat = await Town(wrong=None).chat()
    [told] = await chat.say("/restart")
    assert told.startswith("No gateway runs here")
    assert "hermes gateway start" in told


def test_each_command_is_declared_once_and_can_be_run_in_one_way() -> None:
    town = Town()
    assert set(town.commands) >= WANTED
    for name, command in town.commands.items():
        assert name == command.name == name.lower()
        assert (command.run is None) != (command.run_async is None), name
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
