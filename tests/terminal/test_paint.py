"""What the first paint costs, measured as a ratio within one run."""

import pytest
from bench.paint import LIMIT_RATIO, LIMIT_S, measured

pytestmark = pytest.mark.slow


def test_the_first_paint_costs_little_more_than_the_libraries_that_draw_it() -> None:
    found = measured(rounds=3)
    assert found["paint_s"] <= LIMIT_S or found["ratio"] <= LIMIT_RATIO, found
