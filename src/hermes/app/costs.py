"""Prices of model calls, and charts of them; optional packages load at their first use.

Part of the composition root.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from hermes.commands.usage import as_svg, usage_commands
from hermes.core.channel import Command
from hermes.core.errors import Misconfigured
from hermes.core.messages import Usage
from hermes.core.session import Session
from hermes.installed import how_to_add
from hermes.lazy import LazyModule
from hermes.providers.prices import Listed, cost_of
from hermes.settings import Settings
from hermes.views.chart import Sheet
from hermes.views.insights import Cost

if TYPE_CHECKING:
    from hermes.providers import price_list
    from hermes.views import png as png_painter
else:
    price_list = LazyModule("hermes.providers.price_list")
    png_painter = LazyModule("hermes.views.png")


def pricing(settings: Settings) -> Cost:
    """Price calls by the provider's own figure, the settings, or the installed price list."""
    return lambda model, usage, calls: cost_of(
        model, usage, settings.prices, calls=calls, listed=_listed
    )


def cost_commands(
    settings: Settings, window: Callable[[str], int]
) -> Mapping[str, Sequence[Command]]:
    """Return the commands by their heading in /help. `window` returns how much a model can read."""

    def readable(session: Session) -> int:
        return window(session.facts.model)

    return {"Costs": usage_commands(pricing(settings), painted, readable)}


def png_of(sheet: Sheet) -> bytes:
    """Return a chart as PNG. Raise Misconfigured if Pillow is not installed."""
    try:
        paint = png_painter.png
    except ModuleNotFoundError as missing:
        fix = f"Take an SVG, or install it: {how_to_add('pictures')}"
        raise Misconfigured("PNG", f"needs the package {missing.name}", fix) from missing
    return paint(sheet)


def painted(sheet: Sheet) -> tuple[bytes, str, str]:
    """Return a chart for a chat: PNG if possible, else SVG."""
    try:
        return png_of(sheet), "image/png", "insights.png"
    except Misconfigured:
        return as_svg(sheet)


def _listed(provider: str, model: str, usage: Usage, calls: int) -> float | None:
    table = _table()
    return table(provider, model, usage, calls) if table is not None else None


@cache
def _table() -> Listed | None:
    try:
        return price_list.listed
    except ModuleNotFoundError:
        return None
