"""The view without the last exchange: which rows are read then, and which still come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.commands.exchanges import without_last_exchange
from hermes.core.errors import Rejected
from hermes.core.events import Span, View
from hermes.core.ids import CallId, SessionId, TurnId, session_key
from hermes.core.messages import Line, Media
from hermes.core.session import Session
from hermes.core.transcript import RELAYED

NOW, OLD = SessionId("now"), SessionId("old")
KEY = session_key("telegram", "dm", "1")
RELAY = Line(role="assistant", text="sent", labels=(RELAYED,))


def user(turn: str, text: str = "") -> Line:
    return Line(role="user", text=text or f"said in {turn}", turn=TurnId(turn))


def answer(turn: str) -> Line:
    return Line(role="assistant", text=f"answer of {turn}", turn=TurnId(turn))


def tool(turn: str) -> Line:
    return Line(role="tool", text="result", turn=TurnId(turn), call=CallId(f"{turn}-1"))


def session(rows: int, *spans: Span, summary: str = "") -> Session:
    return Session(key=KEY, id=NOW, rows=rows, view=View(spans or (Span(NOW),), summary))


def cut(session_: Session, *lines: Line) -> tuple[Span, ...]:
    shorter = without_last_exchange(session_, lines)
    assert shorter is not None
    return shorter.view.spans


def test_the_last_exchange_is_cut_and_what_follows_is_read() -> None:
    lines = [user("t1"), answer("t1"), user("t2"), answer("t2")]
    shorter = without_last_exchange(session(4), lines)
    assert shorter is not None
    assert shorter.view.spans == (Span(NOW, 0, 2), Span(NOW, 4))
    assert shorter.said == user("t2")
    assert not shorter.worked


def test_the_only_exchange_leaves_nothing_to_read() -> None:
    assert cut(session(2), user("t1"), answer("t1")) == (Span(NOW, 2),)


def test_an_exchange_without_an_answer_is_one() -> None:
    assert cut(session(3), user("t1"), answer("t1"), user("t2")) == (Span(NOW, 0, 2), Span(NOW, 3))


def test_a_burst_is_one_exchange_and_is_said_as_a_whole() -> None:
    first = replace(user("t1", "one"), media=(Media(digest="a", media_type="image/png"),))
    last = replace(user("t1", "two"), media=(Media(digest="b", media_type="image/png"),))
    shorter = without_last_exchange(session(4), [first, user("t1", " "), last, answer("t1")])
    assert shorter is not None
    assert shorter.said.text == "one\n\ntwo"
    assert [media.digest for media in shorter.said.media] == ["a", "b"]
    assert shorter.view.spans == (Span(NOW, 4),)


def test_tool_rows_and_steered_lines_go_with_their_turn() -> None:
    turn = [user("t2", "dig"), answer("t2"), tool("t2"), user("t2", "deeper"), answer("t2")]
    shorter = without_last_exchange(session(7), [user("t1"), answer("t1"), *turn])
    assert shorter is not None
    assert shorter.view.spans == (Span(NOW, 0, 2), Span(NOW, 7))
    assert shorter.said.text == "dig\n\ndeeper"
    assert shorter.worked


def test_what_was_sent_into_the_chat_meanwhile_is_still_read() -> None:
    lines = [user("t1"), RELAY, answer("t1"), RELAY, RELAY]
    assert cut(session(5), *lines) == (Span(NOW, 1, 2), Span(NOW, 3))


def test_an_exchange_that_lies_in_an_older_conversation() -> None:
    spans = (Span(OLD, 0, 4), Span(NOW))
    lines = [user("t1"), answer("t1"), user("t2"), answer("t2")]
    assert cut(session(0, *spans), *lines) == (Span(OLD, 0, 2), Span(NOW))


def test_an_exchange_over_the_border_of_two_spans() -> None:
    spans = (Span(OLD, 0, 3), Span(NOW, 5))
    lines = [user("t1"), answer("t1"), user("t2"), tool("t2"), answer("t2")]
    assert cut(session(7, *spans), *lines) == (Span(OLD, 0, 2), Span(NOW, 7))


def test_pieces_of_one_conversation_that_were_cut_before() -> None:
    spans = (Span(NOW, 0, 2), Span(NOW, 4))
    lines = [user("t1"), answer("t1"), user("t3"), answer("t3")]
    assert cut(session(6, *spans), *lines) == (Span(NOW, 0, 2), Span(NOW, 6))
    assert cut(session(6, Span(NOW, 0, 2), Span(NOW, 6)), *lines[:2]) == (Span(NOW, 6),)


def test_a_view_that_did_not_grow_grows_again() -> None:
    assert cut(session(2, Span(NOW, 0, 2)), user("t1"), answer("t1")) == (Span(NOW, 2),)


def test_a_summary_stays() -> None:
    shorter = without_last_exchange(
        session(3, Span(NOW, 1), summary="so far"), [user("t"), tool("t")]
    )
    assert shorter is not None
    assert shorter.view == View((Span(NOW, 3),), "so far")


def test_lines_that_a_client_carried_here_go_one_by_one() -> None:
    carried = [user("", "one"), answer(""), user("", "two"), answer("")]
    assert cut(session(6), *carried, user("t1"), answer("t1")) == (Span(NOW, 0, 4), Span(NOW, 6))
    rest = session(6, Span(NOW, 0, 4), Span(NOW, 6))
    assert cut(rest, *carried) == (Span(NOW, 0, 2), Span(NOW, 6))


@pytest.mark.parametrize(
    "lines",
    [(), (RELAY,), (answer("t1"), tool("t1")), (user("t1"), answer("t1"), answer("t2"))],
    ids=["nothing", "only relayed", "begins in mid-turn", "its question is summed up"],
)
def test_where_the_person_said_nothing_there_is_nothing_to_cut(lines: tuple[Line, ...]) -> None:
    assert without_last_exchange(session(len(lines)), lines) is None


def test_lines_that_are_not_those_of_the_view_are_refused() -> None:
    with pytest.raises(Rejected):
        without_last_exchange(session(3), [user("t1"), answer("t1")])
    with pytest.raises(Rejected):
        without_last_exchange(session(0, Span(OLD), Span(NOW)), [user("t1"), answer("t1")])


exchanges = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 3), st.booleans()), min_size=1, max_size=6
)


@given(exchanges, st.integers(0, 12))
def test_every_cut_takes_one_turn_and_leaves_the_rest_as_it_was(
    shape: list[tuple[int, int, bool]], border: int
) -> None:
    """Whatever the turns look like, and wherever an older conversation ends."""
    lines: list[Line] = []
    for number, (said, tools, relayed) in enumerate(shape):
        turn = f"t{number}"
        lines += [user(turn)] * said + [tool(turn)] * tools + [answer(turn)]
        lines += [RELAY] * relayed
    old = min(border, len(lines))
    world = {OLD: lines[:old], NOW: lines[old:]}
    at = session(len(lines) - old, Span(OLD, 0, old), Span(NOW))
    for number in reversed(range(len(shape))):
        read = [
            line for span in at.view.spans for line in world[span.session][span.start : span.stop]
        ]
        shorter = without_last_exchange(at, read)
        assert shorter is not None
        at = replace(at, view=shorter.view)
        left = [
            line for span in at.view.spans for line in world[span.session][span.start : span.stop]
        ]
        assert left == [line for line in read if line.turn != f"t{number}"]
        assert at.view.spans[-1].stop is None
    assert without_last_exchange(at, left) is None
