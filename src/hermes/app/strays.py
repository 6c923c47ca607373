"""End commands that run for turns which have ended. Part of the composition root."""

from pathlib import Path
from typing import TYPE_CHECKING

from hermes.app.storage import CALLS
from hermes.core.ids import CallId, TurnId
from hermes.core.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes.ports.workspace import Workspace


async def end_strays(home: Path, store: Store, workspace: "Callable[[], Workspace]") -> None:
    """Nothing is made where nothing ever ran."""
    if not any((home / CALLS).glob("*")):
        return
    terminal = workspace().terminal
    for call in await terminal.strays():
        if await _is_over(store, call):
            await terminal.stop(call, "stopped")


async def _is_over(store: Store, call: CallId) -> bool:
    """Did the turn end, and its process die before it could end the command as well?"""
    turn = await store.library.turn(TurnId(call.rpartition("-")[0]))
    return turn is None or turn.state in ("answered", "failed", "stopped")
