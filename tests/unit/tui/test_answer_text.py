"""Every visible character of an answer is on the screen: see `written.py` for what that means."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.text.visible_text import visible_lines
from hermes.tui.skins import DARK, LIGHT, MONO
from unit.tui.written import missing, on_screen

WIDTHS = (20, 33, 80, 132)
MARKS = "ab 1.*_`~#>-+=[]()<>/&;:\\!\"'\n"
NASTY = (
    "Use the <title> tag inside <head>, or Vec<String>",
    "Roses are red,\nviolets are blue,\n\n   and so on\n",
    "7. seven\n8. eight\n   - nested **bold** one\n     going on\n\n     a paragraph\n9) nine",
    "AT&T &amp; &lt;b&gt; &#42; &copy;",
    "see <https://example.org/a_b> or https://example.org/_x_ or <me@example.org>",
    "Title\n=====\n\nOther\n-----\n\n---\n\n***\n\n___\n\n* * *",
    '<div align="center">\n  <b>x</b>\n</div>\n\n<!-- a comment -->\n\n<script>alert(1)</script>',
    "\\*not bold\\* C:\\_new\\[x\\] \\(a\\) 1\\. a\\\\",
    'a [text][ref] b[^1]\n\n[ref]: http://example.org "Title"\n[^1]: A footnote.',
    "snake_case_name __init__.py _private_ 2*3*4 a**b**c **/*.py f(*args, **kwargs) *.c *.h",
    '[docs](https://example.org/a_(b)) ![alt](x.png) f[i](x) [a](b) [x](y.z "title")',
    "***both*** **a *b* c** ~~gone~~ ~5 ``a ` b`` ` `` **`x`**: **Note:**text 这是**粗体**文字",
    '```python title="x.py"\ndef f(x):\n\treturn x ** 2  # <b>\n```\nbehind',
    "1. x\n\n   ```sh\n   ls <dir>\n\n   pwd\n   ```\n\n2. y\n\n       indented *code* here",
    "````md\n```\ninner\n```\n````\n~~~\n`x`\n~~~",
    "```\n```\n\n``` a ``` b\n\n```never closed\nx *y*",
    "    indented *code* with <tags>\n\n\t\ttabs too",
    "# C#\n## A ## \n### `x` and **y** ###\n#hashtag\n#\n####### seven",
    "> quoted\n>> deeper\n> > - item *x*\n\n>no blank",
    "Name      Qty   Price\n--------  ---   -----\nBolts     10    1.50\nA\tB\tC",
    "- a\n+ b\n* c\n-no item\n- [ ] open\n- [x] done\n\n+ added\n- removed",
    "漢字かな交じり文 " * 12 + "😀 wide",
    "x" * 300 + " " + "y" * 90,
    "a" * 20 + "*b* " * 40,
)


@pytest.mark.parametrize("answer", NASTY)
def test_what_looks_like_markup_is_on_the_screen_as_it_was_written(answer: str) -> None:
    pieces = [answer[at : at + 5] for at in range(0, len(answer), 5)]
    for columns in WIDTHS:
        assert not missing(answer, on_screen([answer], MONO, columns), MONO)
    assert not missing(answer, on_screen(pieces, DARK, WIDTHS[0]), DARK)
    assert not missing(answer, on_screen(pieces, DARK, WIDTHS[2]), DARK)


@settings(max_examples=60)
@given(
    st.lists(st.text(alphabet=MARKS, max_size=40) | st.sampled_from(NASTY), max_size=4),
    st.sampled_from(WIDTHS),
    st.randoms(use_true_random=False),
)
def test_every_visible_character_of_an_answer_is_on_the_screen(
    parts: list[str], columns: int, random: "object"
) -> None:
    answer = visible_lines("\n".join(parts))
    pieces, at = [], 0
    while at < len(answer):
        size = random.randint(1, 12)  # type: ignore[attr-defined]
        pieces.append(answer[at : at + size])
        at += size
    assert not missing(answer, on_screen([answer], LIGHT, columns), LIGHT)
    assert not missing(answer, on_screen(pieces, LIGHT, columns), LIGHT)


@settings(max_examples=60)
@given(st.text(alphabet="ab|-: *`\n<>&漢", max_size=80), st.sampled_from(WIDTHS))
def test_a_table_has_every_character_of_its_cells(text: str, columns: int) -> None:
    answer = f"| one | <two> | `a` |\n|:--|--:|---|\n| x<b>y | a_b | {'long ' * 9}|\n{text}"
    shown = Counter(cell.data for cell in on_screen([answer], DARK, columns))
    counts = Counter(char for char in answer if not char.isspace() and char not in "|-:*`")
    assert not counts - shown
