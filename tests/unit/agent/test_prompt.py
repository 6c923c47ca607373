"""The system prompt: its parts, their order, and that the same parts make the same bytes."""

from hermes.agent.prompt import IDENTITY, WORK, Sources, compose, parts_of
from hermes.core.ports import PromptPart

FULL = Sources(
    soul="You are Ada.\n\n",
    personality="Be brief.",
    given=(
        PromptPart("memory", "The cat is called Tom."),
        PromptPart("user", "Ann, in Oslo."),
        PromptPart("skills", "deploy: how to deploy"),
    ),
    context="rules of the folder",
    hints="Shown on a phone.",
    conversation="Working directory: “/”",
    instructions="Answer in French.",
)


def test_parts_stand_in_their_order_and_the_senders_wish_is_last() -> None:
    assert [part.name for part in parts_of(FULL)] == [
        "identity",
        "personality",
        "work",
        "memory",
        "user",
        "skills",
        "context",
        "platform",
        "conversation",
        "instructions",
    ]


def test_what_is_empty_vanishes() -> None:
    assert parts_of(Sources(soul=" \n", hints="\n")) == (
        PromptPart("identity", IDENTITY),
        PromptPart("work", WORK),
    )
    empty = (PromptPart("memory", ""), PromptPart("user", " \n"))
    assert compose(parts_of(Sources(given=empty))) == compose(parts_of(Sources()))
    assert compose(()) == ""


def test_the_owners_words_take_the_place_of_ours() -> None:
    text = compose(parts_of(FULL))
    assert text.startswith("You are Ada.\n\n# personality\nBe brief.\n\n# work\n")
    assert IDENTITY not in text
    assert text.endswith("\n\n# instructions\nAnswer in French.\n")


def test_the_same_parts_are_the_same_bytes() -> None:
    assert compose(parts_of(FULL)).encode() == compose(list(parts_of(FULL))).encode()
    assert "\n\n\n" not in compose(parts_of(FULL))
