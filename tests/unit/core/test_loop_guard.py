"""P8: a program is answered three times in a row, and then the owner decides."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core import step as s
from hermes.core.codec import decode_session, encode
from hermes.core.fold import fold_all
from hermes.core.ids import SessionId
from hermes.core.loop_guard import ANSWERS_MAX, SENDERS_MAX
from hermes.core.messages import Inbound, Person
from hermes.core.session import Idle, Running, Session, Waiting
from tests.unit.core.life import Life
from tests.unit.core.strategies import KEY, inbound
from tests.unit.core.strict import faults


def automatic(number: int, sender: str = "bot", text: str = "beep") -> Inbound:
    return replace(inbound(number, text), sender=Person(id=sender), automatic=True)


def beep(life: Life, number: int, sender: str = "bot", text: str = "beep") -> None:
    """A program writes, and is answered if it may be."""
    life.record(e.MessageReceived(automatic(number, sender, text), SessionId("s1")))
    if isinstance(life.go().then, s.AskModel):
        life.answer("boop")


def looped(turns: int = ANSWERS_MAX + 1) -> Life:
    life = Life()
    for number in range(turns):
        beep(life, number)
    return life


def answers(life: Life) -> int:
    return sum(isinstance(event, e.TurnEnded) for event in life.events)


def decide(life: Life, answer: str) -> None:
    life.say(900, answer)


def test_the_fourth_answer_in_a_row_waits_for_the_owner_and_no_model_is_asked() -> None:
    life = looped()
    assert answers(life) == ANSWERS_MAX
    assert isinstance(life.session.phase, Waiting)
    assert life.kinds().count("ModelAnswered") == ANSWERS_MAX
    beep(life, 10)
    beep(life, 11)
    assert answers(life) == ANSWERS_MAX, "the lane is parked"
    assert len(life.session.waiting) == 2


def test_a_yes_goes_on_and_the_count_begins_again() -> None:
    life = looped()
    decide(life, "/approve")
    life.answer("boop")
    assert answers(life) == ANSWERS_MAX + 1
    for number in range(20, 30):
        beep(life, number)
    assert answers(life) == 2 * ANSWERS_MAX
    assert isinstance(life.session.phase, Waiting)


def test_after_a_no_the_program_is_not_read_until_a_person_speaks() -> None:
    life = looped()
    decide(life, "/deny")
    assert isinstance(life.session.phase, Idle)
    beep(life, 10)
    assert life.kinds()[-1] == "MessageDropped"
    assert answers(life) == ANSWERS_MAX
    assert faults(life.request()) == []
    life.say(11)
    life.answer("hello, person")
    beep(life, 12)
    assert answers(life) == ANSWERS_MAX + 2


def test_nobody_answering_in_time_is_a_no() -> None:
    life = looped()
    life.now += 1e9
    life.go()
    assert isinstance(life.session.phase, Idle)
    beep(life, 10)
    assert life.kinds()[-1] == "MessageDropped"


def test_a_person_in_between_begins_the_count_again() -> None:
    life = Life()
    for number in range(12):
        beep(life, number)
        if number % ANSWERS_MAX == ANSWERS_MAX - 1:
            life.say(100 + number)
            life.answer("hello")
    assert answers(life) == 16
    assert isinstance(life.session.phase, Idle)


def test_a_burst_with_a_person_in_it_is_a_persons_turn() -> None:
    life = looped(ANSWERS_MAX)
    life.record(e.MessageReceived(automatic(10), SessionId("s1")))
    assert isinstance(life.say(11).then, s.AskModel)
    assert life.session.answered == {}


def test_two_programs_that_take_turns_do_not_hide_behind_one_another() -> None:
    life = Life()
    for number in range(20):
        beep(life, number, sender=f"bot{number % 2}")
    assert answers(life) == 2 * ANSWERS_MAX
    assert isinstance(life.session.phase, Waiting)


def test_events_and_schedules_are_answered_as_often_as_they_come() -> None:
    life = Life()
    for number in range(10):
        event = replace(inbound(number), origin="webhook", sender=Person(id="webhook:deploys"))
        life.record(e.MessageReceived(event, SessionId("s1")))
        life.go()
        life.answer("noted")
    assert answers(life) == 10


def test_a_program_gives_no_commands() -> None:
    life = looped()
    beep(life, 10, text="/approve")
    assert isinstance(life.session.phase, Waiting)
    assert answers(life) == ANSWERS_MAX


def test_a_crash_anywhere_leaves_the_same_question() -> None:
    """What is counted is in the journal, and in a snapshot of it."""
    life = looped()
    assert fold_all(Session(key=KEY), life.events) == life.session
    assert decode_session(encode(life.session)) == life.session
    phase = life.session.phase
    life.crash()
    assert life.session.phase == phase
    decide(life, "/deny")
    life.crash()
    beep(life, 10)
    assert answers(life) == ANSWERS_MAX


def test_a_crash_before_the_question_asks_it_once() -> None:
    life = looped(ANSWERS_MAX)
    life.record(e.MessageReceived(automatic(10), SessionId("s1")))
    turn = life.planner.plan(life.session, (), epoch=life.epoch, reached=False)
    life.record(*turn.events)
    assert isinstance(life.session.phase, Running)
    life.crash()
    assert isinstance(life.session.phase, Waiting)
    assert life.kinds().count("QuestionAsked") == 1


people = st.just("person")
bots = st.integers(0, 2).map(lambda n: f"bot{n}")


@given(st.lists(st.one_of(people, bots, st.just("crash"), st.just("yes")), max_size=40))
def test_no_program_is_ever_answered_four_times_in_a_row_unless_the_owner_says_so(
    acts: list[str],
) -> None:
    life, row = Life(), dict[str, int]()
    for number, act in enumerate(acts):
        before = answers(life)
        if act == "crash":
            life.crash()
        elif act == "yes":
            if isinstance(life.session.phase, Waiting):
                row = {}
                decide_by(life, 1_000 + number)
        elif act == "person":
            life.record(e.MessageReceived(inbound(number, "hello"), SessionId("s1")))
            if isinstance(life.go().then, s.AskModel):
                row = {}
                life.answer("hello")
        else:
            beep(life, number, sender=act)
            if answers(life) > before:
                row[act] = row.get(act, 0) + 1
        assert all(count <= ANSWERS_MAX for count in row.values())
        assert len(life.session.answered) <= SENDERS_MAX


def decide_by(life: Life, number: int) -> None:
    life.record(e.MessageReceived(inbound(number, "/approve"), SessionId("s1")))
    if isinstance(life.go().then, s.AskModel):
        life.answer("boop")


def test_only_so_many_programs_are_remembered() -> None:
    life = Life()
    for number in range(SENDERS_MAX + 5):
        beep(life, number, sender=f"bot{number}")
    assert len(life.session.answered) == SENDERS_MAX
