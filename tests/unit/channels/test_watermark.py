"""Which position a cursor may move to while messages are accepted side by side."""

from hypothesis import given
from hypothesis import strategies as st

from hermes.channels.kit.watermark import Watermark


@given(st.permutations(range(8)))
def test_c70_no_position_is_passed_that_has_an_open_one_before_it(order: list[int]) -> None:
    mark, reached, ended = Watermark(), -1, set[int]()
    for position in range(8):
        mark.begin(str(position))
    for position in order:
        ended.add(position)
        moved = mark.end(str(position))
        reached = int(moved) if moved else reached
        assert set(range(reached + 1)) <= ended
        assert reached + 1 not in ended, "it moves as far as it may"
    assert reached == 7


def test_a_position_that_never_ends_holds_the_cursor_back() -> None:
    mark = Watermark()
    for position in ("a", "b", "c"):
        mark.begin(position)
    assert mark.end("b") == ""
    assert mark.end("c") == ""
    assert mark.end("a") == "c"
