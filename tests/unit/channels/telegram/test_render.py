"""Rendering: valid MarkdownV2 for whatever a model writes, within the limit, nothing lost."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermes.channels.kit.chunks import utf16_units
from hermes.channels.telegram.markdown import markdown_v2
from hermes.channels.telegram.render import TEXT_UNITS_MAX, draft_of, plain_of, render
from tests.doubles.telegram_markdown import Entity, parse_markdown_v2

MARKS = ["*", "**", "***", "_", "__", "~", "~~", "`", "``", "```", "|", "||", "\\", "[", "]("]
MARKS += [
    ")",
    "!",
    "![",
    "<",
    ">",
    "#",
    "# ",
    "- ",
    "1. ",
    "> ",
    "---",
    "\n",
    "\n\n",
    " ",
    ".",
    "-",
]
WORDS = [
    "word",
    "snake_case",
    "a.b(c)",
    "https://x.test/a_(b)",
    "👩‍👩‍👧",
    "e\u0301",
    "| a | b |",
    "x" * 40,
]
soup = st.lists(st.sampled_from(MARKS + WORDS), max_size=60).map("".join)
wild = st.lists(st.one_of(st.sampled_from(MARKS + WORDS), st.text(max_size=6)), max_size=60).map(
    "".join
)
PROSE = ["word", "a.b(c)!", "1+1=2", "{x}", "👩‍👩‍👧", "naïve", "№ 5 = five"]
prose = st.lists(
    st.lists(st.sampled_from(PROSE), min_size=1, max_size=150).map(" ".join), max_size=30
).map("\n\n".join)


def seen(text: str) -> str:
    """What people see, white space aside."""
    return "".join("".join(parse_markdown_v2(chunk)[0].split()) for chunk in render(text))


@given(st.one_of(soup, wild))
@settings(max_examples=200, deadline=None)
@example("*a*_b_")
@example("_a\\\\_*b*")
@example("**a `b*` c** d*")
@example("```\n`\\\n```")
def test_whatever_is_written_telegram_can_read_it(text: str) -> None:
    for chunk in render(text):
        shown, _ = parse_markdown_v2(chunk)
        assert shown.strip()


@given(wild)
@settings(max_examples=100, deadline=None)
def test_the_plain_form_says_the_same(text: str) -> None:
    for chunk in render(text):
        shown, entities = parse_markdown_v2(chunk)
        if not any(entity.kind in ("text_link", "pre") for entity in entities):
            assert plain_of(chunk) == shown


@given(prose)
@settings(max_examples=30, deadline=None)
def test_the_chunks_joined_give_the_source_back(text: str) -> None:
    assert seen(text) == "".join(text.split())


@given(st.lists(soup, max_size=12).map(lambda made: "\n".join(made * 20)))
@settings(max_examples=20, deadline=None)
def test_no_chunk_is_over_the_limit_after_escaping(text: str) -> None:
    assert [chunk for chunk in render(text) if utf16_units(chunk) > TEXT_UNITS_MAX] == []


def test_emoji_count_twice_and_every_dot_counts_twice() -> None:
    for text in ("😀" * 5_000, "." * 9_000, "a.b " * 3_000):
        chunks = render(text)
        assert max(map(utf16_units, chunks)) <= TEXT_UNITS_MAX
        assert "".join("".join(plain_of(chunk).split()) for chunk in chunks) == "".join(
            text.split()
        )


def test_code_that_is_cut_is_code_on_both_sides() -> None:
    text = "see:\n```python\n" + "\n".join(f"line_{n} = '.'" for n in range(900)) + "\n```\ndone"
    chunks = render(text)
    assert len(chunks) > 2
    blocks = [entity for chunk in chunks for entity in parse_markdown_v2(chunk)[1]]
    assert {(block.kind, block.detail) for block in blocks} == {("pre", "python")}
    code = "\n".join(block.text.strip("\n") for block in blocks)
    assert code == "\n".join(f"line_{n} = '.'" for n in range(900))


@pytest.mark.parametrize(
    ("text", "shown", "marked"),
    [
        ("**bold** and *soft*", "bold and soft", [("bold", "bold"), ("italic", "soft")]),
        ("__bold__ and _soft_", "bold and soft", [("bold", "bold"), ("italic", "soft")]),
        ("***both***", "both", [("italic", "both"), ("bold", "both")]),
        ("~~gone~~", "gone", [("strikethrough", "gone")]),
        ("use `a_b*c`.", "use a_b*c.", [("code", "a_b*c")]),
        ("# A *title*", "A title", [("italic", "title"), ("bold", "A title")]),
        ("## **Loud**", "Loud", [("bold", "Loud")]),
        ("- one\n  - two", "• one\n  • two", []),
        ("1. one\n2) two", "1. one\n2) two", []),
        ("- [x] done\n- [ ] open", "☑ done\n☐ open", []),
        ("> wise\n> words", "wise\nwords", [("blockquote", "wise\nwords")]),
        ("snake_case_name stays", "snake_case_name stays", []),
        ("2 * 3 * 4 = 24", "2 * 3 * 4 = 24", []),
        ("a \\*star\\*", "a *star*", []),
        ("---", "———", []),
        ("<https://x.test>", "https://x.test", []),
        ("**open and never closed", "**open and never closed", []),
        ("**over\ntwo lines**", "over\ntwo lines", [("bold", "over\ntwo lines")]),
        ("if a < b > c: x[0] = {1}", "if a < b > c: x[0] = {1}", []),
    ],
)
def test_what_models_write(text: str, shown: str, marked: list[tuple[str, str]]) -> None:
    plain, entities = parse_markdown_v2(markdown_v2(text))
    assert plain == shown
    assert [(one.kind, one.text) for one in entities] == marked


def test_a_link_keeps_its_address_and_an_odd_one_stays_text() -> None:
    plain, entities = parse_markdown_v2(markdown_v2("[see _this_](https://x.test/a_(b)?c=1.2)"))
    assert plain == "see this"
    assert entities[-1] == Entity("text_link", "see this", "https://x.test/a_(b)?c=1.2")
    assert plain_of(markdown_v2("[a](https://x.test/)")) == "a (https://x.test/)"
    plain, entities = parse_markdown_v2(markdown_v2("[a](./b.md) [x]"))
    assert (plain, entities) == ("[a](./b.md) [x]", [])


def test_a_table_is_laid_out_in_a_block() -> None:
    table = "| name | size |\n|---|---:|\n| **a** | 1 |\n| b\\|c | 22 |"
    (chunk,) = render(f"Here:\n{table}\nEnd.")
    plain, (block,) = parse_markdown_v2(chunk)
    assert block.kind == "pre"
    assert block.text.strip("\n").splitlines() == [
        "name │ size",
        "───────────",
        "a    │ 1",
        "b|c  │ 22",
    ]
    assert plain.startswith("Here:\n")
    assert plain.endswith("\nEnd.")


def test_a_fence_that_never_ends_is_code_to_the_end() -> None:
    _, (block,) = parse_markdown_v2(markdown_v2("```sh\nls *.py"))
    assert (block.kind, block.detail, block.text) == ("pre", "sh", "ls *.py\n")


def test_nothing_to_say_is_no_chunk() -> None:
    assert render("") == render(" \n\t\n") == ()


def test_a_draft_shows_the_beginning_and_a_cursor() -> None:
    assert draft_of("  so *far") == "so *far …"
    assert draft_of("**Done**:\n- `a`\n```sh\nls") == "Done:\n• a\nls …"
    long = draft_of("👍🏽" * 3_000)
    assert utf16_units(long) <= TEXT_UNITS_MAX
    assert long.removesuffix(" …").endswith("👍🏽")


def test_a_hostile_text_is_rendered_in_time() -> None:
    for text in (
        "*a " * 5_000,
        "[" * 9_000,
        "`" * 3 + "a`" * 5_000,
        "_a" * 5_000,
        "**a **" * 3_000,
    ):
        began = time.process_time()
        assert render(text)
        assert time.process_time() - began < 3
