"""When a start counts as one of a chain of crashes (C15), and how long a drain may take (C08)."""

import pytest

from hermes.core.ids import NodeId
from hermes.core.messages import Address
from hermes.core.store import Boot
from hermes.gateway.boot import boot_message, is_storm
from hermes.gateway.drain import drain_limit

NOW = 10_000.0


def boots(*ages_and_states: tuple[float, str]) -> list[Boot]:
    made = []
    for age, state in ages_and_states:
        assert state in ("alive", "left", "died")
        made.append(Boot(NodeId(str(age)), NOW - age, state))
    return made


@pytest.mark.parametrize(
    ("earlier", "storm"),
    [
        ([(10, "died"), (20, "died"), (30, "died")], True),
        ([(10, "died"), (20, "died")], False),
        ([(10, "died"), (20, "left"), (30, "died"), (40, "died")], False),
        ([(299, "died"), (598, "died"), (897, "died")], True),
        ([(301, "died"), (310, "died"), (320, "died")], False),
        ([(10, "died"), (20, "died"), (400, "died")], False),
        ([(10, "alive"), (20, "died"), (30, "died"), (40, "died")], False),
        ([], False),
        ([(-50, "died"), (20, "died"), (30, "died")], False),
    ],
)
def test_c15_three_deaths_soon_after_one_another_are_a_chain(
    earlier: list[tuple[float, str]], storm: bool
) -> None:
    assert is_storm(boots(*earlier), NOW) is storm


def test_c08_a_drain_leaves_the_supervisor_time() -> None:
    assert drain_limit(60, None) == 60
    assert drain_limit(60, 90) == 60
    assert drain_limit(60, 30) == 25
    assert drain_limit(60, 3) == 0
    assert drain_limit(60, float("inf")) == 60


def test_boot_md_is_one_turn_for_each_start() -> None:
    home = Address(platform="telegram", chat="1")
    one = boot_message("look around", home, NodeId("a"), NOW)
    assert (one.origin, one.address, one.text) == ("boot", home, "look around")
    assert one.id != boot_message("look around", home, NodeId("b"), NOW).id
