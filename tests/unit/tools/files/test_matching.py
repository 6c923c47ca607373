"""Where an edit belongs: exactly there, or nearly there if only one place fits, else nowhere."""

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hermes.core.errors import ToolFailed
from hermes.tools.files.matching import TextEdit, patched

lines = st.lists(st.text("abc xyz", max_size=8), min_size=1, max_size=12)


def one(text: str, old: str, new: str, **more: object) -> str:
    return patched(text, [TextEdit(old=old, new=new, **more)]).text  # type: ignore[arg-type]


@given(st.text("ab\n ", max_size=40), st.text("ab\n ", max_size=40), st.text("xy\n", max_size=10))
def test_an_exact_place_is_replaced_and_nothing_else(before: str, after: str, new: str) -> None:
    text = f"{before}<OLD>{after}"
    assert one(text, "<OLD>", new) == f"{before}{new}{after}"


@given(lines, st.data())
def test_a_text_is_never_changed_outside_the_lines_that_were_found(
    rows: list[str], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(rows) - 1))
    stop = data.draw(st.integers(start + 1, len(rows)))
    old = "\n".join(data.draw(st.sampled_from(["", " ", "\t"])) + row for row in rows[start:stop])
    text = "\n".join(rows)
    try:
        result = patched(text, [TextEdit(old=old, new="NEW", every=False)]).text
    except ToolFailed:
        return
    before, _, after = result.partition("NEW")
    assert text.startswith(before.rstrip(" \t"))
    assert text.endswith(after)


@given(st.text("ab\n", min_size=1, max_size=6), st.text("ab\n", max_size=40))
def test_two_equal_places_are_one_too_many(old: str, between: str) -> None:
    assume(old.strip())
    text = f"{old}#{between}#{old}"
    with pytest.raises(ToolFailed, match=r"there \d+ times"):
        one(text, old, "x")


@given(
    st.text("ab", min_size=1, max_size=3), st.text("abc\n", max_size=60), st.text("xy", max_size=3)
)
def test_replace_all_is_what_python_calls_replace(old: str, text: str, new: str) -> None:
    assume(old in text)
    assert one(text, old, new, every=True) == text.replace(old, new)


@given(lines)
def test_edits_are_applied_in_order_and_all_or_none(rows: list[str]) -> None:
    text = "\n".join(rows) + "\nEND"
    edits = [TextEdit(old="END", new="MIDDLE"), TextEdit(old="MIDDLE", new="DONE")]
    assert patched(text, edits).text == "\n".join(rows) + "\nDONE"
    with pytest.raises(ToolFailed, match="Edit 2: "):
        patched(text, [edits[0], TextEdit(old="NOT THERE", new="x")])


def test_white_space_at_line_ends_is_forgiven() -> None:
    text = "def f():  \n    return 1\t\nend\n"
    assert one(text, "def f():\n    return 1\n", "def g():\n    return 2\n") == (
        "def g():\n    return 2\nend\n"
    )


def test_one_indentation_throughout_is_forgiven_and_kept() -> None:
    text = "class A:\n    def f(self):\n        return 1\n"
    new = "def f(self):\n    x = 2\n    return x"
    assert one(text, "def f(self):\n    return 1", new) == (
        "class A:\n    def f(self):\n        x = 2\n        return x\n"
    )


def test_tabs_in_the_file_and_spaces_in_the_edit_are_forgiven() -> None:
    text = "if a:\n\tif b:\n\t\tc()\n"
    new = "    if b:\n        c()\n        d()"
    assert one(text, "    if b:\n        c()", new) == "if a:\n\tif b:\n\t\tc()\n\t\td()\n"


def test_indentation_that_differs_in_shape_is_not_guessed() -> None:
    text = "if a:\n    b()\n        c()\n"
    with pytest.raises(ToolFailed, match=r"closest place is:\n2\|    b"):
        one(text, "  b()\n  c()", "  d()\n  e()")


def test_typographic_characters_are_forgiven() -> None:
    text = "print(\u201chello\u201d) \u2013 it\u2019s\n"
    assert one(text, '("hello") - it\'s', "('bye')") == "print('bye')\n"


def test_nearly_equal_places_are_one_too_many_too() -> None:
    with pytest.raises(ToolFailed, match="2 times"):
        one("  a = 1\n    a = 1\n", "a = 1 ", "b")


def test_an_exact_place_wins_over_a_nearly_equal_one() -> None:
    assert one("  x\nx \n", "x \n", "y\n") == "  x\ny\n"


def test_the_error_shows_the_closest_region() -> None:
    text = "\n".join(f"line {n}" for n in range(1, 100))
    with pytest.raises(ToolFailed) as failed:
        one(text, "line 50\nline fifty-one\nline 52", "x")
    assert "50|line 50\n51|line 51\n52|line 52" in str(failed.value)
    with pytest.raises(ToolFailed, match=r"closest place is:\n3\|line 7"):
        one("a\nb\nline 7\n", "lime 7", "x")


def test_the_error_says_when_the_new_text_is_there_already() -> None:
    with pytest.raises(ToolFailed, match="new one is, at line 2: already applied"):
        one("a\nnew text\n", "old text", "new text")


def test_nothing_to_do_and_nowhere_to_put_it_are_errors() -> None:
    with pytest.raises(ToolFailed, match="the same"):
        one("a", "a", "a")
    with pytest.raises(ToolFailed, match="old text is empty"):
        one("a", "", "b")
    assert one("", "", "first") == "first"


def test_an_anchor_chooses_among_equal_places() -> None:
    text = "def a():\n    pass\ndef b():\n    pass\n"
    assert one(text, "    pass", "    return", anchor="def b") == (
        "def a():\n    pass\ndef b():\n    return\n"
    )
    assert one(text, "", "    x = 1", anchor="def b()") == (
        "def a():\n    pass\ndef b():\n    x = 1\n    pass\n"
    )
    with pytest.raises(ToolFailed, match="is not there"):
        one(text, "    pass", "x", anchor="def c")


def test_a_line_number_chooses_among_equal_places() -> None:
    assert one("x\nx\nx\n", "x", "y", line=2) == "x\ny\nx\n"
    assert one("x\nx", "", "new", line=1) == "x\nnew\nx"


def test_a_big_file_with_many_equal_lines_is_searched_quickly() -> None:
    text = "}\n" * 100_000
    began = time.thread_time()
    with pytest.raises(ToolFailed):
        one(text, " }\n }\nnot there", "x")
    with pytest.raises(ToolFailed, match="times"):
        one(text, " }\n }", "x")
    assert time.thread_time() - began < 5
