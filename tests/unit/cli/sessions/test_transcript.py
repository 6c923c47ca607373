"""A conversation as text."""

from hermes.cli.sessions.transcript import markdown, readable, row
from hermes.core.ids import CallId
from hermes.core.messages import Call, Line, Media, Outcome
from hermes.views.call_line import compact, cut

CALL = Call(id=CallId("t-1"), tool="terminal", arguments='{"command": "ls -la"}')
PICTURE = Media(digest="d", media_type="image/png", name="a.png")
RESULT = "one\ntwo\nthree\nfour\nfive"
LINES = [
    Line(role="user", text="look\nhere", at=1.0, sender="owner", media=(PICTURE,)),
    Line(role="assistant", text="I look.", at=2.0, calls=(CALL,), model="custom:m"),
    Line(role="tool", text=RESULT, at=3.0, call=CALL.id, outcome=Outcome.FAILED),
    Line(role="assistant", text="Done.", at=4.0, model="custom:m"),
    Line(role="user", text="thanks", at=5.0, sender="12345"),
]


def test_speakers_have_blocks_and_calls_their_outcome_and_first_lines() -> None:
    text = "\n".join(readable(LINES, now=1.0, full=False))
    blocks = text.split("\n\n")
    assert blocks[0].splitlines()[0].startswith("you · ")
    assert blocks[0].splitlines()[1:] == ["  look", "  here", "  [a.png]"]
    assert blocks[1].splitlines()[0].startswith("hermes (custom:m) · ")
    assert blocks[1].splitlines()[1:] == [
        "  I look.",
        "  → terminal ls -la: failed",
        "    one",
        "    two",
        "    three",
        "    … 2 more lines (--full)",
        "  Done.",
    ]
    assert blocks[2].splitlines()[0].startswith("12345 · ")


def test_results_come_in_full_when_they_are_wanted() -> None:
    text = "\n".join(readable(LINES, now=1.0, full=True))
    assert "    five" in text
    assert "more lines" not in text


def test_a_call_without_a_result_says_so() -> None:
    text = "\n".join(readable(LINES[:2], now=1.0, full=False))
    assert "→ terminal ls -la: no result" in text


def test_no_result_can_close_its_fence() -> None:
    evil = Line(role="tool", text="a\n```\n# not a heading\n````\n", call=CALL.id)
    text = "\n".join(markdown("main", [LINES[1], evil]))
    assert text.count("`````") == 2
    assert text.startswith("# main\n")


def test_markdown_tells_who_and_when() -> None:
    text = "\n".join(markdown("main", LINES))
    assert "## you, 1970-01-01T00:00:01.000+00:00" in text
    assert '**terminal** `{"command": "ls -la"}`: failed' in text


def test_a_call_is_told_in_one_line() -> None:
    def told(arguments: str) -> str:
        return compact(Call(id=CallId("c"), tool="t", arguments=arguments))

    assert told('{"path": "a.txt"}') == "t a.txt"
    assert told('{"path": "a.txt", "limit": 5}') == "t path=a.txt limit=5"
    assert told('{"n": 5}') == "t n=5"
    assert told("{}") == "t"
    assert told("not json") == "t not json"
    assert told("[1]") == "t [1]"
    assert told('{"command": "a\\nb"}') == "t a b"
    assert len(told('{"x": "' + "y" * 500 + '"}')) == 100


def test_cut_says_that_it_cut() -> None:
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 3) == "ab…"


def test_a_row_for_programs_has_iso_time_and_nothing_empty() -> None:
    shown = row(LINES[2])
    assert shown["at"] == "1970-01-01T00:00:03.000+00:00"
    assert shown["outcome"] == "failed"
    assert "media" not in shown
