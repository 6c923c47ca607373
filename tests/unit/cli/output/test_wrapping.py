"""Text and tables fit a terminal of any width, and no word is broken that would fit."""

from hypothesis import given
from hypothesis import strategies as st

from hermes.cli.output.tables import table_lines
from hermes.cli.output.wrapping import StreamWrapper, cells_of, wrapped

WORDS = st.text(st.sampled_from("abcdé-./:"), min_size=1, max_size=14)
LINES = st.builds(
    lambda lead, words: " " * lead + " ".join(words), st.integers(0, 6), st.lists(WORDS)
)
TEXTS = st.lists(LINES, max_size=4).map("\n".join)
WIDTHS = st.integers(8, 60)


@given(TEXTS, WIDTHS)
def test_a_line_is_broken_only_between_words(text: str, width: int) -> None:
    shown = wrapped(text, width)
    assert shown.split() == text.split()
    for line in shown.split("\n"):
        assert cells_of(line) <= width or len(line.split()) == 1


@given(TEXTS, WIDTHS, st.integers(1, 7))
def test_a_text_that_comes_in_pieces_is_broken_as_a_whole_one(
    text: str, width: int, step: int
) -> None:
    whole = StreamWrapper(width)
    expected = whole.feed(text) + whole.end()
    pieces = StreamWrapper(width)
    got = "".join(pieces.feed(text[n : n + step]) for n in range(0, len(text), step))
    got += pieces.end()
    assert got == expected
    assert got.split() == text.split()
    for line in got.split("\n"):
        assert cells_of(line) <= width or len(line.split()) == 1


def test_code_between_fences_is_left_as_it_is() -> None:
    code = "```sh\nmake all the things that there are to make\n```\nand now some words"
    wrapper = StreamWrapper(20)
    shown = wrapper.feed(code) + wrapper.end()
    assert "make all the things that there are to make" in shown
    assert shown.endswith("and now some words")
    assert wrapper.feed("and now some other words ").startswith("and now some other\n")


def test_what_follows_stands_under_the_second_column() -> None:
    line = "  chat             Send a message and print the answer"
    assert wrapped(line, 40).split("\n") == [
        "  chat             Send a message and",
        "                   print the answer",
    ]
    assert wrapped("- one two three", 10).split("\n") == ["- one two", "  three"]


def test_wide_characters_count_twice_and_may_be_parted() -> None:
    assert cells_of("日本") == 4
    assert wrapped("日本語日本語", 8).split("\n") == ["日本語日", "本語"]


@given(st.lists(st.tuples(WORDS, WORDS, LINES), max_size=4), st.integers(8, 120))
def test_a_table_fits_at_any_width(rows: list[tuple[str, str, str]], width: int) -> None:
    cells = [[" ".join(cell.split()) for cell in row] for row in rows]
    lines = list(table_lines(("NAME", "STATE", "TITLE"), cells, width, str))
    for line in lines:
        assert cells_of(line) <= width or len(line.split()) == 1
    shown = " ".join(lines)
    for row in cells:
        for word in row[0].split():
            assert word in shown
