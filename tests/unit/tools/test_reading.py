"""A page as text: what stays recognisable, what goes, and that no page makes it slow or wrong."""

import pytest

from hermes.tools.markup import ClosingTag, MarkupComment, MarkupText, OpeningTag, tokens
from hermes.tools.reading import SOURCE_CHARS_MAX, TOKENS_MAX, read_page, read_text

HERE = "https://site.test/a/b"


def text(source: str) -> str:
    return read_page(source, HERE).text


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("<h1>One</h1><h3>Two</h3>", "# One\n\n### Two"),
        ("<p>a<p>b", "a\n\nb"),
        ("a  <b>b</b>\n c", "a b c"),
        ("one<br>two", "one\ntwo"),
        ("<ul><li>a<li>b</ul>", "- a\n- b"),
        ("<ol><li>a</li><li>b</li></ol>", "1. a\n2. b"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n\n  - b\n\n- c"),
        ("<pre>x\n  y</pre>", "```\nx\n  y\n```"),
        ("use <code>ls -l</code> now", "use `ls -l` now"),
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b\n| 1 | 2"),
        ('<a href="c?x=1&amp;y=2">go</a>', "go <https://site.test/a/c?x=1&y=2>"),
        ('<a href="javascript:x()">go</a> <a href="#top">up</a>', "go up"),
        ('<a href="https://site.test/">https://site.test/</a>', "https://site.test/"),
        ('<img alt="a cat" src=x>', "[image: a cat]"),
        ("1 &lt; 2 &amp; &eacute; &#x41;", "1 < 2 & \u00e9 A"),
        ("a < b and 3<4", "a < b and 3<4"),
        ("<textarea>typed</textarea>", "typed"),
        ("<details><summary>s</summary>more</details>", "s\n\nmore"),
        ("<body hidden>kept", "kept"),
    ],
)
def test_what_a_person_sees_stays(source: str, shown: str) -> None:
    assert text(source) == shown


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("<p hidden>no<p>yes", "yes"),
        ("<li hidden>no<li>yes", "- yes"),
        ("<div hidden>no<p>no</p>no</div>yes", "yes"),
        ("<div hidden></p></span></li>no</div>yes", "yes"),
        ("<span hidden><div>no</span>no</div></span> yes", "yes"),
        ("<div hidden><table><tr><td></div>no</td></tr></table></div>yes", "yes"),
        ("<b hidden>no</b>yes", "yes"),
        ("<!-- no --!>yes", "yes"),
        ("<!-->yes", "yes"),
        ("yes<!-- no", "yes"),
        ("yes<script>no", "yes"),
        ("yes<a href='no", "yes"),
        ("<style>@media print{.x{display:none}}</style><p class=x>yes", "yes"),
        ("<p class=x>no<style>p.x{DISPLAY:NONE!important}</style><p>yes", "yes"),
        ("<p style='margin-left:-100px'>yes", "yes"),
        ("<p style='opacity:0.5;width:10px;height:0.5em'>yes", "yes"),
        ("<p style='transform:scale(0)'>no<p>yes", "yes"),
        ("<xmp><b>yes</b></xmp>", "<b>yes</b>"),
    ],
)
def test_what_nobody_sees_goes_and_nothing_else(source: str, shown: str) -> None:
    assert text(source) == shown


def test_the_title_and_the_links_are_told_apart() -> None:
    page = read_page("<title> A\n&amp; B </title><a href=/x>x</a><a hidden href=/y>y</a>", HERE)
    assert (page.title, page.text) == ("A & B", "x <https://site.test/x>")
    assert page.links == ("https://site.test/x",)
    assert page.left_out == "1 hidden part"


def test_plain_text_stays_as_it_is_but_for_what_cannot_be_seen() -> None:
    page = read_text("a\r\nb \N{ZERO WIDTH SPACE}<b> https://site.test/x?y=1 \U000e0041")
    assert page.text == "a\nb <b> https://site.test/x?y=1 "
    assert page.links == ("https://site.test/x?y=1",)
    assert page.left_out == "2 invisible characters"


def test_a_tag_is_cut_where_browsers_cut_it() -> None:
    found = list(tokens("<A HREF='a>b' x=\"1\" y=2/z q>t</a ><!doctype html><?php x?></ no>"))
    assert found == [
        OpeningTag("a", {"href": "a>b", "x": "1", "y": "2/z", "q": ""}),
        MarkupText("t"),
        ClosingTag("a"),
        MarkupComment(""),
        MarkupComment(""),
        MarkupComment(""),
    ]


@pytest.mark.parametrize(
    "piece",
    [
        *("<a ", "<!--", "</", "<a x='", "<a x=\"'", "<![CDATA[", "<p>", "<div>", "<table><td>"),
        *("<script><!--<script></script>", "<style>{", "</y>", "<a href=x>y</a>", "&#", "<li><p>"),
    ],
)
def test_no_page_is_too_bad_to_be_read_to_its_limit(piece: str) -> None:
    """The parser of the standard library needs minutes for a tenth of some of these."""
    read_page(piece * (SOURCE_CHARS_MAX // 8 // len(piece)), HERE)


def test_what_goes_on_beyond_the_limits_says_so() -> None:
    for source in ("<i>" * 600, "a<br>" * TOKENS_MAX, "x" * (SOURCE_CHARS_MAX + 1)):
        assert read_page(source, HERE).text.endswith("to read further]")


def test_a_tangle_of_stray_ends_is_given_up() -> None:
    tangle = "<y><div>" + "<x>" * 400 + "</y>" * 20_000
    assert read_page(tangle, HERE).text.endswith("to read further]")
