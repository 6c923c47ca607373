"""Output is clean, never longer than its limit, and its head and tail are exact."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.tools.output import clean, clean_tail, clipped, is_binary, joined, line_cut

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=400) | st.text(
    "aü€😀\n", max_size=400
)


@given(texts, st.integers(0, 60), st.integers(0, 60))
def test_a_clipped_text_is_a_prefix_and_a_suffix_within_the_limit(
    text: str, head: int, tail: int
) -> None:
    part = clipped(text, head, tail)
    assert text.startswith(part.head)
    assert text.endswith(part.tail)
    assert len(part.head.encode()) + len(part.tail.encode()) + part.left_out == len(text.encode())
    if len(text.encode()) <= head + tail:
        assert (part.head, part.left_out) == (text, 0)
    else:
        assert len(part.head.encode()) <= head
        assert len(part.tail.encode()) <= tail
        assert part.left_out > 0


@given(st.text("ab\n", min_size=100, max_size=300))
def test_a_cut_prefers_the_end_of_a_line(text: str) -> None:
    part = clipped(text, 40, 40)
    if part.left_out and "\n" in text[20:40]:
        assert part.head.endswith("\n")


def test_the_gap_is_named_in_a_line_of_its_own() -> None:
    part = clipped("a" * 50 + "b" * 50, 10, 10)
    assert joined(part, left_out="80 bytes left out") == (
        "a" * 10 + "\n[… 80 bytes left out …]\n" + "b" * 10
    )
    assert joined(clipped("short", 10, 10), left_out="") == "short"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b(Bplain\x1b7\x1b8", "plain"),
        (b"10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
        (b"a\x00\x07\x08b\tc", "ab\tc"),
        ("grün 😀".encode(), "grün 😀"),
        (b"bad \xff byte", "bad \ufffd byte"),
        ("cut €".encode()[:-1], "cut "),
        (b"cut escape \x1b[3", "cut escape "),
    ],
)
def test_cleaning_leaves_what_a_person_would_see(raw: bytes, text: str) -> None:
    assert clean(raw) == text


@given(st.binary(max_size=300))
def test_cleaned_text_has_no_control_characters(raw: bytes) -> None:
    for text in (clean(raw), clean_tail(raw)):
        assert not any(ord(c) < 32 and c not in "\n\t" for c in text)
        assert "\x7f" not in text
        text.encode()


@pytest.mark.parametrize(
    "raw",
    [b"\x1b[" * 20_000, b"\x1b]" + b"x" * 40_000, b"x" * 40_000, b"\r" * 40_000, b"a\rb" * 9_000],
)
def test_cleaning_takes_linear_time(raw: bytes) -> None:
    began = time.thread_time()
    clean(raw)
    assert time.thread_time() - began < 1.0


def test_a_tail_begins_with_a_whole_character_and_mostly_a_whole_line() -> None:
    assert clean_tail("€".encode()[1:] + b"rest of it\nline two\nline three\n" * 3).startswith(
        "line two"
    )
    assert clean_tail(b"no line end at all") == "no line end at all"


def test_binary_is_told_from_text_in_any_language() -> None:
    assert is_binary(b"\x7fELF\x00\x01")
    assert is_binary(bytes(range(128, 256)))
    assert not is_binary("пример текста 漢字".encode())
    assert not is_binary("漢字".encode()[:-1]), "a character cut off at the end is no sign"
    assert not is_binary(b"")


def test_a_long_line_says_how_much_is_missing() -> None:
    assert line_cut("abcdef", 4) == "abcd… [2 more characters]"
    assert line_cut("abcd", 4) == "abcd"
