"""Which of a text that is being written is whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.tui.blocks import LIVE_CHARS_MAX, MarkdownBlock, blocks, settled

TEXT = """\
# Title

Some words
go on.

```py
a = 1

b = 2
```
- one

- two

The end."""


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", ""),
        ("words", ""),
        ("words\n", ""),
        ("words\n\n", "words\n\n"),
        ("words\n\nmore", "words\n\n"),
        ("```py\na = 1\n\nb", ""),
        ("```py\na = 1\n\n```\n", "```py\na = 1\n\n```\n"),
        ("````\n```\n\n", ""),
        ("``` a ``` b\n\n", "``` a ``` b\n\n"),
        ("- one\n\n", ""),
        ("- one\n\n  of it\n\n", ""),
        ("- one\n\n- tw", "- one\n\n"),
        ("- one\n\nWords", "- one\n\n"),
        ("1. x\n\n    ```\n    a\n\n    b\n    ```\n\n", ""),
        ("~~~\n```\n\n", ""),
    ],
)
def test_a_block_is_whole_at_its_end(text: str, whole: str) -> None:
    assert text[: settled(text)] == whole


def test_a_block_that_does_not_end_is_cut_at_a_line() -> None:
    text = "a line\n" * (LIVE_CHARS_MAX // 7 + 1) + "rest"
    assert text[settled(text) :] == "rest"


def test_all_blocks_are_found() -> None:
    assert list(blocks(TEXT)) == [
        MarkdownBlock("heading", "Title", "#"),
        MarkdownBlock("prose", "Some words\ngo on."),
        MarkdownBlock("code", "a = 1\n\nb = 2", "py"),
        MarkdownBlock("prose", "- one"),
        MarkdownBlock("prose", "- two"),
        MarkdownBlock("prose", "The end."),
    ]


def test_code_that_is_never_closed_reaches_to_the_end() -> None:
    assert list(blocks("```sh\nls\n\npwd")) == [MarkdownBlock("code", "ls\n\npwd", "sh")]


@given(st.text(alphabet="ab `~#-\n", max_size=80), st.text(alphabet="ab `~#-\n", max_size=40))
def test_what_is_settled_stays_so_whatever_follows(text: str, more: str) -> None:
    assert settled(text + more) >= settled(text)


@given(st.text(alphabet="ab `~\n", max_size=120))
def test_a_text_in_pieces_is_the_same_as_the_whole(text: str) -> None:
    shown, rest = "", text
    for end in range(len(text) + 1):
        whole = settled(text[len(shown) : end])
        shown += text[len(shown) : len(shown) + whole]
    rest = text[len(shown) :]
    assert shown + rest == text
