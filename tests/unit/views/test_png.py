"""A painted picture: the same shapes as the drawn one."""

from io import BytesIO

import pytest

from hermes.core.messages import Usage
from hermes.core.store import Spending, UsageSum
from hermes.views.chart import chart
from hermes.views.insights import DAY_S, insights

pytest.importorskip("PIL")

from PIL import Image

from hermes.views.png import SCALE, png
from hermes.views.svg import LIGHT

SPENT = UsageSum(
    by="day", name="1970-01-01", model="m", calls=1, usage=Usage(input=90, output=30, cached=40)
)


def test_a_painted_picture_has_the_size_and_the_colours_of_the_sheet() -> None:
    found = insights(
        Spending(sums=(SPENT,)), lambda _model, _usage, _calls: None, since=0.0, until=2.0 * DAY_S
    )
    sheet = chart(found)
    painted = Image.open(BytesIO(png(sheet)))
    assert painted.size == (sheet.width * SCALE, sheet.height * SCALE)
    seen = {colour for _, colour in painted.convert("RGB").getcolors(1_000_000)}
    for tone in ("sheet", "ink", "cached", "fresh", "output"):
        assert tuple(bytes.fromhex(LIGHT[tone][1:])) in seen
