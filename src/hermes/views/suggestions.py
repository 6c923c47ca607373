"""Suggest three things to ask, for people who do not know yet what an agent can do. Pure."""

from typing import Final

HERE: Final = (
    "What is in this folder?",
    "Write a haiku about rain into haiku.txt",
    "Remember that I like short answers",
)
IN_CHAT: Final = (
    "What can you do for me?",
    "Write a shopping list with milk and bread into shopping.txt",
    "Remember that I like short answers",
)
TALK_ONLY: Final = (
    "What is the capital of France?",
    "Give me three names for a cat",
    "Tell me about the sea in two sentences",
)


def suggested(suggestions: tuple[str, str, str]) -> str:
    """Return one line with the suggestions."""
    return "For example: " + " · ".join(f"“{each}”" for each in suggestions)
