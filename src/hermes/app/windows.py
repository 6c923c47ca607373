"""The context windows that servers told, kept in the home. Part of the composition root.

A setting counts first. The file is shared by all processes of a home: the gateway learns, and the
status line of a window reads.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hermes.lazy import LazyModule

if TYPE_CHECKING:
    from hermes.providers import windows as provider_windows
    from hermes.providers.plan import RequestPlan
else:
    provider_windows = LazyModule("hermes.providers.windows")

FILE = "context-windows.json"
MODELS_MAX = 200


class LearnedWindows:
    """Tokens by `provider:model`. Without a folder nothing is kept beyond the process."""

    def __init__(self, home: Path | None = None) -> None:
        self._file = home / FILE if home is not None else None
        self._known: dict[str, int] = {}
        self._read_at = 0

    def tokens(self, name: str) -> int:
        """Return what is known of this model; 0 if nothing is."""
        self._refresh()
        return self._known.get(name, 0)

    def learn(self, name: str, tokens: int) -> None:
        """Keep it. A disk that refuses costs only the memory of it."""
        self._refresh()
        if self._known.get(name) == tokens:
            return
        others = [(each, count) for each, count in self._known.items() if each != name]
        self._known = dict([*others, (name, tokens)][-MODELS_MAX:])
        if self._file is None:
            return
        try:
            new = self._file.with_suffix(f".{os.getpid()}")
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.encode(self._known))
            new.replace(self._file)
            self._read_at = self._file.stat().st_mtime_ns
        except OSError:
            return

    async def ask(self, plan: "RequestPlan") -> None:
        """Ask the server of this plan, if it is one of the owner's."""
        if plan.endpoint is None or not plan.entry.local:
            return
        if tokens := await provider_windows.ask_window(plan):
            self.learn(plan.endpoint.whom.name, tokens)

    def _refresh(self) -> None:
        if self._file is None:
            return
        try:
            changed = self._file.stat().st_mtime_ns
            if changed != self._read_at:
                self._known = msgspec.json.decode(self._file.read_bytes(), type=dict[str, int])
                self._read_at = changed
        except (OSError, msgspec.MsgspecError):
            return
