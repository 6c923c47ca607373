"""What is streamed of a turn: live, never taken back, and in the end complete."""

from hypothesis import given
from hypothesis import strategies as st

from hermes.channels.api.flow import BREAK, Flow


def words(*texts: str) -> list[str]:
    return list(texts)


def test_text_streams_as_it_comes_and_the_commit_adds_nothing() -> None:
    flow = Flow()
    flow.attempt(seen=True)
    assert [flow.delta(text) for text in words("Hel", "lo", "!")] == words("Hel", "lo", "!")
    assert flow.committed("Hello!", seen=True) == ""
    assert flow.finished("Hello!") == ""


def test_what_the_commit_has_more_is_sent() -> None:
    flow = Flow()
    flow.attempt(seen=True)
    flow.delta("Hello")
    assert flow.committed("Hello [cut]", seen=True) == " [cut]"


def test_space_at_the_end_that_was_streamed_is_no_difference() -> None:
    flow = Flow()
    flow.attempt(seen=True)
    flow.delta("Hello \n")
    assert flow.committed("Hello", seen=True) == ""


def test_the_text_before_a_call_stays_as_a_paragraph_of_its_own() -> None:
    flow = Flow()
    flow.attempt(seen=True)
    assert flow.delta("I look.") == "I look."
    assert flow.committed("I look.", seen=True) == ""
    assert flow.committed("", seen=True) == "", "a step without text leaves no trace"
    assert flow.delta("Done") == f"{BREAK}Done"
    assert flow.delta(".") == "."
    assert flow.committed("Done.", seen=True) == ""
    assert flow.finished("Done.") == ""


def test_a_retry_that_says_the_same_goes_on_where_the_attempt_broke_off() -> None:
    flow = Flow()
    flow.attempt(seen=True)
    flow.delta("Hello wor")
    flow.attempt(seen=True)
    assert [flow.delta(text) for text in words("Hel", "lo world", "!")] == words("", "ld", "!")
    assert flow.committed("Hello world!", seen=True) == ""


def test_a_retry_that_says_something_else_is_told_whole_behind_a_break() -> None:
    flow = Flow()
    flow.attempt(seen=True)
    flow.delta("Hello")
    flow.attempt(seen=True)
    assert flow.delta("He") == ""
    assert flow.delta(" said") == f"{BREAK}He said"
    assert flow.delta(" no") == " no"
    assert flow.committed("He said no", seen=True) == ""


def test_an_attempt_whose_beginning_was_not_seen_comes_whole() -> None:
    flow = Flow()
    assert flow.delta("lo") == ""
    assert flow.committed("Hello", seen=True) == "Hello"
    flow.delta("And")
    flow.lost()
    assert flow.delta("so on") == ""
    assert flow.committed("And now so on", seen=True) == " now so on"


def test_the_last_words_of_a_turn_that_no_model_said_are_told() -> None:
    flow = Flow()
    flow.attempt(seen=True)
    flow.delta("I look.")
    flow.committed("I look.", seen=True)
    assert flow.finished("I stopped after 3 steps.") == f"{BREAK}I stopped after 3 steps."


TEXT = st.text(alphabet="ab \n", max_size=8)


@given(
    steps=st.lists(
        st.tuples(
            st.lists(st.tuples(TEXT, st.booleans()), max_size=3),  # attempts that broke off
            TEXT,  # the answer
            st.booleans(),  # is it streamed?
            st.booleans(),  # is something of it lost on the way?
        ),
        min_size=1,
        max_size=4,
    )
)
def test_the_last_text_is_always_complete_and_stands_at_the_end(
    steps: list[tuple[list[tuple[str, bool]], str, bool, bool]],
) -> None:
    flow = Flow()
    flow.attempt(seen=True)
    told = ""
    for broken, answer, streamed, lost in steps:
        for text, seen in broken:
            told += "".join(flow.delta(letter) for letter in text)
            flow.attempt(seen=seen)
        if streamed:
            flow.attempt(seen=True)
            for n, letter in enumerate(answer):
                if lost and n == len(answer) // 2:
                    flow.lost()
                told += flow.delta(letter)
        told += flow.committed(answer, seen=True)
    last = steps[-1][1]
    told += flow.finished(last)
    assert told.strip().endswith(last.strip())


@given(texts=st.lists(st.text(max_size=5), max_size=6), more=st.text(max_size=5))
def test_a_plain_stream_is_the_answer_letter_for_letter(texts: list[str], more: str) -> None:
    flow = Flow()
    flow.attempt(seen=True)
    told = "".join(flow.delta(text) for text in texts)
    answer = "".join(texts) + more
    assert told + flow.committed(answer, seen=True) + flow.finished(answer) == answer
