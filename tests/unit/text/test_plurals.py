"""A number and its noun."""

import re
from pathlib import Path

import pytest

from hermes.text.plurals import counted

SRC = Path(__file__).parents[3] / "src"


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 lines"), (1, "1 line"), (2, "2 lines"), (1_000, "1,000 lines")]
)
def test_one_has_no_plural(number: int, said: str) -> None:
    assert counted(number, "line") == said


def test_a_noun_may_have_a_plural_of_its_own() -> None:
    assert counted(2, "reply", "replies") == "2 replies"


def test_no_help_text_names_a_port_that_nobody_has() -> None:
    texts = [file.read_text(encoding="utf-8") for file in (SRC / "hermes" / "cli").rglob("*.py")]
    assert not any(re.search(r":9901\b", text) for text in texts)
