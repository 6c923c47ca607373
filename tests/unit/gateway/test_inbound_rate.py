"""How much of one person is taken at a time (RES-5)."""

import pytest

from hermes.core.errors import Rejected
from hermes.core.ids import SessionKey
from hermes.core.messages import Address
from hermes.core.people import Role, Sender
from hermes.gateway.inbound_rate import MINUTE_S, PEOPLE_MAX, TOO_MANY, InboundRate


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def person(number: int = 1) -> Sender:
    key = SessionKey(f"agent:main:telegram:dm:{number}")
    return Sender(key, Address(platform="telegram", chat=str(number)), str(number))


def refused(measure: InboundRate, sender: Sender) -> str | None:
    try:
        measure.demand(sender, Role.PAIRED)
    except Rejected as rejected:
        return str(rejected)
    return None


def test_res_05_so_many_a_minute_are_taken_and_the_rest_is_refused_with_one_word() -> None:
    clock = Clock()
    measure, bob = InboundRate(a_minute=30, clock=clock), person()
    said = [refused(measure, bob) for _ in range(1_000)]
    assert said == [None] * 30 + [TOO_MANY] + [""] * 969
    assert not measure.has_room(bob)
    clock.now += MINUTE_S / 30
    assert measure.has_room(bob)
    assert [refused(measure, bob), refused(measure, bob)] == [None, ""]
    clock.now += MINUTE_S
    assert [refused(measure, bob) for _ in range(32)] == [None] * 30 + [TOO_MANY, ""]


def test_res_05_one_who_floods_takes_nothing_from_the_others() -> None:
    measure = InboundRate(a_minute=5, clock=Clock())
    assert [refused(measure, person(1)) for _ in range(50)].count(None) == 5
    assert [refused(measure, person(2)) for _ in range(5)] == [None] * 5


def test_the_owner_is_never_refused_and_nobody_where_there_is_no_limit() -> None:
    measure = InboundRate(a_minute=1, clock=Clock())
    for _ in range(100):
        measure.demand(person(), Role.OWNER)
    free = InboundRate(a_minute=0, clock=Clock())
    assert [refused(free, person()) for _ in range(100)] == [None] * 100


def test_a_clock_that_goes_back_takes_nothing_away() -> None:
    clock = Clock()
    measure = InboundRate(a_minute=2, clock=clock)
    assert refused(measure, person()) is None
    clock.now -= 500
    assert refused(measure, person()) is None
    with pytest.raises(Rejected):
        measure.demand(person(), Role.MEMBER)


def test_res_05_only_so_many_people_are_remembered() -> None:
    measure = InboundRate(a_minute=1, clock=Clock())
    for number in range(PEOPLE_MAX + 10):
        measure.demand(person(number), Role.MEMBER)
    assert measure.has_room(person(3)), "who was heard of longest ago is forgotten"
    assert not measure.has_room(person(PEOPLE_MAX + 9))
