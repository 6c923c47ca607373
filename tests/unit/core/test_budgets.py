"""What may be spent, and who has to stop first."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core import step as s
from hermes.core.budget import Budgets, SpentToday, over_budget
from hermes.core.messages import Outcome, Spent, Usage
from hermes.core.rules import DecisionContext
from tests.unit.core.life import Life

ORIGINS = ("person", "schedule", "webhook", "parent", "boot", "background", "review")


def turn_of(origin: str = "person", sender: str = "ann"):
    life = Life()
    life.say(1)
    return replace(life.turn, origin=origin, sender=sender)


def test_without_a_number_there_is_no_limit() -> None:
    assert over_budget(turn_of(), 10**12, SpentToday(tokens=10**12, cost=1e9), Budgets()) == ""


def test_what_nobody_waits_for_stops_first() -> None:
    budgets, ledger = Budgets(day_tokens=1_000), SpentToday(tokens=800)
    assert over_budget(turn_of(), 0, ledger, budgets) == ""
    for origin in ORIGINS[1:]:
        said = over_budget(turn_of(origin), 0, ledger, budgets)
        assert "budgets.day_tokens is 1,000" in said
        assert "80%" in said
    assert over_budget(turn_of(), 0, SpentToday(tokens=1_000), budgets)


def test_each_person_has_a_budget_of_their_own() -> None:
    budgets = Budgets(person_day_tokens=100)
    ledger = SpentToday(tokens=500, persons={"ann": 100, "bob": 99})
    assert "person_day_tokens" in over_budget(turn_of(sender="ann"), 0, ledger, budgets)
    assert over_budget(turn_of(sender="bob"), 0, ledger, budgets) == ""


def test_money_is_a_budget_too() -> None:
    said = over_budget(turn_of(), 0, SpentToday(cost=2.5), Budgets(day_cost=2.0))
    assert "budgets.day_cost is 2.0" in said
    assert "2.5" in said


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from(ORIGINS))
def test_more_spent_never_allows_more(less: int, more: int, origin: str) -> None:
    budgets = Budgets(session_tokens=5_000, day_tokens=50_000)
    less, more = sorted((less, more))
    if over_budget(turn_of(origin), less, SpentToday(tokens=less), budgets):
        assert over_budget(turn_of(origin), more, SpentToday(tokens=more), budgets)


def test_a_conversation_counts_all_its_model_calls() -> None:
    life = Life()
    life.say(1)
    usage = Usage(input=10, output=5)
    turn = life.turn
    call = e.Call(id=f"{turn.id}-1", tool="look")
    life.go(e.ModelAnswered(turn.id, life.now, calls=(call,), usage=usage))
    spent = (Spent(purpose="recall", model="m", usage=usage),)
    life.go(e.CallEnded(turn.id, call.id, Outcome.OK, "x", life.now, spent=spent))
    life.record(e.Compacted(life.session.viewed_at, e.View(), 1, life.now, spent))
    assert life.session.used == 45
    life.go(e.ModelAnswered(turn.id, life.now, text="yes", usage=usage))
    life.say(2, "/new")
    assert life.session.used == 0


def test_a_turn_ends_with_the_reason_when_the_budget_is_used_up_in_its_middle() -> None:
    life = Life()
    life.say(1)
    rules = replace(life.planner.rules, budgets=Budgets(session_tokens=10))
    life.answer("", "look")
    life.record(
        e.CallEnded(
            life.turn.id,
            life.turn.call_states[0].call.id,
            Outcome.OK,
            "x",
            life.now,
            spent=(Spent(purpose="recall", model="m", usage=Usage(input=20)),),
        )
    )
    step = s.next_step(life.session, rules, DecisionContext(at=life.now, epoch=life.epoch))
    assert isinstance(step, s.Finish)
    assert "budgets.session_tokens" in step.text
