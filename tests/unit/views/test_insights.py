"""Figures from the accounts: priced, named, without gaps; and how they are shown."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.messages import Usage
from hermes.core.store import Dimension, Spending, ToolSum, UsageSum
from hermes.views.amounts import Bar, cells_of, money, price, rows, sparks, tokens
from hermes.views.chart import ChartLabels, chart, nice
from hermes.views.insights import DAY_S, Figure, document, insights, period
from hermes.views.session_names import short_key
from hermes.views.svg import DARK, LIGHT, svg

SINCE, UNTIL = 0.0, 3.0 * DAY_S


def spent(by: Dimension, name: str, model: str, input_: int, paid: float | None = None) -> UsageSum:
    usage = Usage(input=input_, output=10, cached=input_ // 2, cost=paid)
    return UsageSum(by=by, name=name, model=model, calls=1, usage=usage)


def cost(model: str, usage: Usage, _calls: int) -> float | None:
    return usage.cost if usage.cost is not None else (1.0 if model == "known" else None)


FOUND = insights(
    Spending(
        sums=(
            spent("day", "1970-01-02", "known", 100),
            spent("day", "1970-01-02", "other", 50),
            spent("model", "known", "known", 100),
            spent("model", "other", "other", 50),
            spent("purpose", "turn", "known", 100),
            spent("session", "agent:main:telegram:dm:<&>", "known", 1, 0.5),
        ),
        tools=(ToolSum(tool="terminal", calls=3, failed=1, timed=2, seconds=4.0),),
    ),
    cost,
    since=SINCE,
    until=UNTIL,
)


def test_what_is_known_is_added_up_and_what_is_not_is_named() -> None:
    assert (FOUND.total.calls, FOUND.total.total, FOUND.total.cost) == (2, 170, 1.0)
    assert FOUND.total.unknown == ("other",)
    assert FOUND.total.cache_share == 0.5
    assert [figure.name for figure in FOUND.models] == ["known", "other"]
    assert FOUND.models[1].cost is None
    assert FOUND.sessions[0].cost == 0.5


def test_a_day_without_a_call_is_a_day_all_the_same() -> None:
    assert [day.name for day in FOUND.days] == ["1970-01-01", "1970-01-02", "1970-01-03"]
    assert [day.total for day in FOUND.days] == [0, 170, 0]


def test_a_period_begins_and_ends_at_midnight() -> None:
    assert period(1, 5 * DAY_S + 7.5) == (5 * DAY_S, 6 * DAY_S)
    assert period(3, 5 * DAY_S) == (3 * DAY_S, 6 * DAY_S)


def test_a_document_says_null_for_a_price_that_is_not_known() -> None:
    shown = document(FOUND)
    models = shown["models"]
    assert isinstance(models, list)
    assert models[1]["cost"] is None
    assert models[1]["price_unknown"] == ("other",)
    assert shown["since"] == "1970-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (99_949, "99.9k"),
        (345_000, "345k"),
        (999_700, "1.0M"),
        (6_700_000, "6.7M"),
        (5 * 10**12, "5000G"),
    ],
)
def test_tokens_are_short(number: int, text: str) -> None:
    assert tokens(number) == text


def test_money_never_looks_like_nothing_when_it_is_something() -> None:
    assert [money(each) for each in (0, 0.00001, 0.0123, 0.5, 1234.5)] == [
        "$0",
        "under $0.0001",
        "$0.0123",
        "$0.50",
        "$1,234.50",
    ]
    assert price(Figure(name="x", calls=1)) == "price unknown"
    assert price(Figure(name="x", calls=2, cost=1.0, unknown=("m",))) == "$1.00 + price unknown"


@given(
    st.lists(st.tuples(st.text(max_size=60), st.integers(0, 10**9)), min_size=1, max_size=5),
    st.integers(20, 200),
    st.booleans(),
)
def test_a_plot_fits_its_width(bars: list[tuple[str, int]], width: int, fancy: bool) -> None:
    drawn = rows([Bar(name, value, tokens(value)) for name, value in bars], width, fancy=fancy)
    assert len({len(row.note) for row in drawn}) == 1
    for row, (_, value) in zip(drawn, bars, strict=True):
        cells = cells_of(row.name) + len(row.bar) + len(row.note)
        assert row.bar == "" or cells + 4 <= width
        assert row.name.isprintable()
        assert not row.bar or bool(row.bar.strip()) is (value > 0)
        assert fancy or row.bar.isascii()


def test_sparks_have_one_character_for_each_value() -> None:
    assert sparks([0, 1, 4, 8]) == " ▂▅█"
    assert sparks([0, 1, 4, 8], fancy=False) == " :+@"
    assert sparks([0, 0]) == "  "
    assert sparks([]) == ""


@given(st.floats(0, 1e12))
def test_the_axis_has_round_steps_that_reach_the_top(most: float) -> None:
    step = nice(most)
    assert step * 4 >= most * 0.999
    assert str(f"{step:.0f}").rstrip("0") in ("1", "2", "5")


@given(st.text(max_size=40))
def test_whatever_a_name_holds_the_picture_is_valid_and_says_it(name: str) -> None:
    sums = (spent("session", name, "known", 5), spent("model", "known", "known", 5))
    found = insights(Spending(sums=sums), cost, since=SINCE, until=UNTIL)
    drawn = ET.fromstring(svg(chart(found)))  # noqa: S314
    texts = ["".join(each.itertext()) for each in drawn.iter() if each.tag.endswith("text")]
    assert "By session" in texts


def test_the_picture_has_its_axis_its_legend_and_both_grounds() -> None:
    sheet = chart(FOUND)
    said = [shape.text for shape in sheet.shapes if isinstance(shape, ChartLabels)]
    for label in ("0", "50", "150", "01-01", "01-02", "01-03", "input, cached", "output"):
        assert label in said
    assert "2 model calls, 170 tokens, $1.00 + price unknown, 50% of the input cached" in said
    drawn = svg(sheet)
    assert "prefers-color-scheme:dark" in drawn
    assert LIGHT.keys() == DARK.keys()
    assert all(0 <= shape.x <= sheet.width for shape in sheet.shapes)
    assert all(0 <= shape.y <= sheet.height for shape in sheet.shapes)


def test_a_picture_of_nothing_is_a_picture() -> None:
    found = insights(Spending(), cost, since=SINCE, until=UNTIL)
    assert ET.fromstring(svg(chart(found))).tag.endswith("svg")  # noqa: S314


def test_a_key_is_shown_without_what_all_of_them_begin_with() -> None:
    assert short_key("agent:main:api:dm:x") == "api:dm:x"
