"""Splitting a text: nothing is lost, nothing is too long, fences are whole, graphemes stay."""

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from hermes.channels.kit.chunks import (
    CLUSTER_MAX,
    LIMIT_MIN,
    Piece,
    first_part,
    joined,
    source_lines,
    split,
    utf16_units,
)

RESERVED = set("_*[]()~`>#+-=|{}.!\\")


def escaped(text: str) -> int:
    """Twice as long as it looks, at worst."""
    return utf16_units(text) + sum(char in RESERVED for char in text)


MEASURES: tuple[Callable[[str], int], ...] = (len, utf16_units, escaped)
FLAG, FAMILY, THUMB, ACCENTED, HEART = "🇩🇪", "👩‍👩‍👧‍👦", "👍🏽", "e\u0301\u0323", "❤️"
words = st.one_of(
    st.sampled_from(["word", "a", "(x)", "1+1=2.", FLAG, FAMILY, THUMB, ACCENTED, HEART]),
    st.sampled_from(["```", "`", "~~~", "각", "क्षि", "\r\n", "\u200d", "x" * 90, "# ", "* "]),
    st.text(max_size=8),
)
lines = st.lists(words, max_size=12).map(" ".join)
fenced = st.tuples(
    st.sampled_from(["```py", "```", "~~~~ text", "  ```sh -x"]), st.lists(lines, max_size=8)
).map(lambda made: "\n".join([made[0], *made[1], made[0].split()[0].strip("pyshtex")]))
texts = st.lists(
    st.one_of(lines, fenced, st.just(""), words.map(lambda w: w * 120)), max_size=14
).map("\n".join)
limits = st.integers(LIMIT_MIN, LIMIT_MIN * 2)
measures = st.sampled_from(MEASURES)


def bodies(pieces: tuple[Piece, ...]) -> str:
    return "".join(piece.body for piece in pieces)


def code_of(text: str) -> list[tuple[str, str]]:
    """Every character of code that is not white space, with the language of its fence."""
    found = []
    for line in source_lines(text):
        if line.inside is not None and not line.marker:
            code = "".join(text[line.start : line.stop].split())
            found += [(char, line.inside.language) for char in code]
    return found


@given(texts, limits, measures)
@settings(max_examples=80, deadline=None)
def test_joined_bodies_are_the_text_and_no_piece_is_too_long(
    text: str, limit: int, measure: Callable[[str], int]
) -> None:
    pieces = split(text, limit, measure)
    assert bodies(pieces) == text
    assert [measure(piece.text) for piece in pieces if measure(piece.text) > limit] == []
    assert all(piece.body for piece in pieces)


@given(texts, limits)
@settings(max_examples=80, deadline=None)
def test_a_fence_that_is_cut_is_closed_and_opened_again(text: str, limit: int) -> None:
    pieces = split(text, limit)
    for piece in pieces[:-1]:
        last = source_lines(piece.text)[-1]
        assert last.inside is None or last.marker, piece
    shown = [code for piece in pieces for code in code_of(piece.text)]
    assert shown == code_of(text)


@given(texts, limits)
@settings(max_examples=80, deadline=None)
@example(FAMILY * 200, LIMIT_MIN)
@example("x" + FLAG * 600, LIMIT_MIN)
def test_no_grapheme_is_cut(text: str, limit: int) -> None:
    borders, at = {0}, 0
    long: set[int] = set()
    for cluster in iter_graphemes(text):
        if len(cluster) > CLUSTER_MAX:
            long |= set(range(at, at + len(cluster)))
        at += len(cluster)
        borders.add(at)
    at = 0
    for piece in split(text, limit):
        at += len(piece.body)
        assert at in borders or at in long


def test_a_cut_is_made_between_paragraphs_then_lines_then_words() -> None:
    paragraph = "\n".join(["many words in a line"] * 12)
    text = "\n\n".join([paragraph] * 9)
    assert all(p.body.endswith("line\n\n") for p in split(text, 600)[:-1])
    assert all(p.body.endswith("line\n") for p in split(paragraph * 5, 600)[:-1])
    assert all(p.body.endswith(("word ", "word")) for p in split("word " * 900, 600))


def test_a_block_that_begins_late_begins_the_next_piece() -> None:
    text = "intro " * 60 + "\n```py\n" + "code = 1\n" * 80 + "```\nend"
    first, second, *_ = split(text, LIMIT_MIN)
    assert "```" not in first.text
    assert second.text.startswith("```py\ncode")
    assert second.text.endswith("code = 1\n```")


def test_a_text_that_fits_is_one_piece() -> None:
    assert split("a\n```\nb", LIMIT_MIN) == (Piece("", "a\n```\nb", ""),)
    assert split("", LIMIT_MIN) == ()


def test_a_limit_that_cannot_be_kept_is_refused() -> None:
    with pytest.raises(ValueError, match="below 512"):
        split("text", LIMIT_MIN - 1)


def test_a_cluster_without_end_is_cut_all_the_same() -> None:
    text = "a" + "\u0301" * 3_000
    pieces = split(text, LIMIT_MIN)
    assert bodies(pieces) == text
    assert max(len(piece.text) for piece in pieces) <= LIMIT_MIN


@pytest.mark.parametrize("whole", [FLAG, FAMILY, THUMB, ACCENTED, HEART, "각", "क्षि", "\r\n"])
def test_what_people_see_as_one_character_is_one(whole: str) -> None:
    assert [n for n in range(1, len(whole)) if not joined(whole, n)] == []
    twice = whole + whole
    assert not joined(twice, len(whole))


@given(texts, st.integers(LIMIT_MIN, 2_000), measures)
@settings(max_examples=50, deadline=None)
def test_a_first_part_fits_and_begins_the_text(
    text: str, limit: int, measure: Callable[[str], int]
) -> None:
    part = first_part(text, limit, measure)
    assert text.startswith(part)
    assert measure(part) <= limit
    assert part == text or not joined(text, len(part)) or len(part) > CLUSTER_MAX
