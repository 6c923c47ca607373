"""One tree of a model's Markdown, and its plain form; a platform's own form is in its folder."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermes.channels.kit.markdown import (
    Block,
    CodeBlock,
    Heading,
    ListItem,
    Paragraph,
    QuotedLine,
    TableBlock,
    ThematicBreak,
    parse_markdown,
)
from hermes.channels.kit.plain import plain_text
from hermes.channels.kit.spans import CodeSpan, LinkSpan, MarkedSpan, TextSpan, parse_spans
from hermes.channels.telegram.markdown import markdown_v2
from hermes.channels.telegram.render import plain_of

A = (TextSpan("a"),)
MARKS = ["*", "**", "***", "_", "~~", "`", "```", "|", "\\", "[", "!", "# ", "- ", "- [x] ", "1. "]
WORDS = ["---", "\n", "\n\n", " ", "word", "snake_case", "| a | b |", "|---|---|", "漢字", "│ ls"]
soup = st.lists(st.sampled_from(MARKS + WORDS), max_size=40).map("".join)


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("a", Paragraph(A)),
        ("", None),
        ("### a ##", Heading(3, A)),
        ("- a", ListItem("", "", None, A)),
        ("  - [x] a", ListItem("  ", "", True, A)),
        ("- [ ] a", ListItem("", "", False, A)),
        ("2) a", ListItem("", "2)", None, A)),
        ("> a", QuotedLine(Paragraph(A))),
        ("> > - a", QuotedLine(ListItem("", "", None, A))),
        ("* * *", ThematicBreak()),
        ("```python\nx = '*'\n```", CodeBlock("python", "x = '*'")),
        ("```\n```", None),
        ("│ rm *", CodeBlock("", "│ rm *")),
        ("| a | **b** |\n|---|---|\n| c |", TableBlock((("a", "b"), ("c",)), headed=True)),
        ("| a |\n| b |", TableBlock((("a",), ("b",)), headed=False)),
    ],
)
def test_each_kind_of_block_is_a_value(text: str, block: Block | None) -> None:
    assert parse_markdown(text) == (() if block is None else (block,))


def test_marks_within_a_line_are_a_tree() -> None:
    both = MarkedSpan("strong", (MarkedSpan("emphasis", A),))
    assert parse_spans("***a***") == (both,)
    assert parse_spans("~~a~~`*`") == (MarkedSpan("strike", A), CodeSpan("*"))
    assert parse_spans("[*a*](https://x.test)") == (
        LinkSpan((MarkedSpan("emphasis", A),), "https://x.test"),
    )
    assert parse_spans("**a") == (TextSpan("**"), TextSpan("a")), "what is never closed is text"


def test_only_an_address_that_the_platform_allows_is_a_link() -> None:
    text = "[a](chat://1)"
    assert not any(isinstance(span, LinkSpan) for span in parse_spans(text))
    assert parse_spans(text, ("chat://",)) == (LinkSpan(A, "chat://1"),)
    assert plain_text("[a](javascript:x)") == "[a](javascript:x)"


def test_the_plain_form_has_no_marks_and_keeps_every_word() -> None:
    text = "# Title\n\n**Bold** and `code`, see [here](https://x.test).\n- [x] done\n> *wise*\n---"
    shown = "Title\n\nBold and code, see here (https://x.test).\n☑ done\n> wise\n———"
    assert plain_text(text) == shown
    assert plain_text("| a | bb |\n|--|--|\n| ccc | d |") == "a   │ bb\n────────\nccc │ d"


@given(soup)
@settings(max_examples=100, deadline=None)
@example("**a\nb** `c")
def test_two_renderers_of_one_tree_say_the_same(text: str) -> None:
    telegram, plain = plain_of(markdown_v2(text)), plain_text(text)
    assert "".join(telegram.split()) == "".join(plain.split())
