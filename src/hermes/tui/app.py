"""Opens the window that fits the terminal: the drawn one, or lines for a screen reader."""

import asyncio
from collections.abc import Callable, Mapping

from hermes.tui.colours import Depth
from hermes.tui.plain import run_plain
from hermes.tui.ports import Drawer, Opening, Ways
from hermes.tui.skins import Skin
from hermes.tui.window import Face


def run(
    opening: Opening,
    environ: Mapping[str, str],
    *,
    ways: Callable[[], Ways],
    pen: Callable[[Skin, Depth], Drawer],
) -> None:
    """Returns when the person leaves. Raises what makes going on pointless."""

    async def opened() -> None:
        if opening.plain:
            await run_plain(opening, ways)
        else:
            await Face(opening, environ, ways, pen).run()

    asyncio.run(opened())
