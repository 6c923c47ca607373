"""Open the window that fits the terminal: the drawn one, or plain lines for a screen reader."""

import asyncio
from collections.abc import Callable, Mapping

from hermes.tui.colours import Depth
from hermes.tui.plain import run_plain
from hermes.tui.ports import Drawer, EngineConnections, WindowSettings
from hermes.tui.skins import Skin
from hermes.tui.window import Face


def run(
    opening: WindowSettings,
    environ: Mapping[str, str],
    *,
    connections: Callable[[], EngineConnections],
    pen: Callable[[Skin, Depth], Drawer],
) -> None:
    """Run the window until the person leaves. Raise errors that end the session."""

    async def opened() -> None:
        if opening.plain:
            await run_plain(opening, connections)
        else:
            await Face(opening, environ, connections, pen).run()

    asyncio.run(opened())
