"""What becomes of a line that was written: the window's own commands, or something to say."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import get_args

from hermes.core.store import ConversationRow
from hermes.tui.calls import in_full
from hermes.tui.keys import HELP
from hermes.tui.link import Draft, Image, Link
from hermes.tui.paste import named_images
from hermes.tui.picker import Picker
from hermes.tui.ports import LOCAL, Mode, Opening
from hermes.tui.shown import Remark, Said, Shown, Told
from hermes.tui.skins import AUTO, SKINS

MODES: Sequence[Mode] = get_args(Mode)
LEAVE = ("/exit", "/quit", "exit", "quit")
NONE_BEFORE = "There is no earlier conversation here."


@dataclass(kw_only=True)
class Orders:
    """`tell` shows something for good, `begin` lets something go on beside."""

    opening: Opening
    link: Link
    tell: Callable[[Sequence[Shown]], Coroutine[None, None, None]]
    begin: Callable[[Coroutine[None, None, None]], None]
    quit: Callable[[], None]
    wear: Callable[[str], None]
    mode: Mode = "queue"
    picker: Picker | None = None

    def enter(self, text: str, images: Sequence[Image]) -> None:
        word, _, rest = text.strip().partition(" ")
        argument = rest.strip()
        if text.strip() in LEAVE:
            self.quit()
        elif word == "/resume" and not argument:
            self.begin(self._offer())
        elif word == "/skin":
            self.begin(self._skin(argument))
        elif word == "/unfold":
            full = in_full(self.link.board.calls.finished, argument, self.opening.clock())
            self.begin(self.tell([Said(text), Told(full)]))
        elif word == "/mode":
            self.begin(self._mode(argument))
        elif word == "/keys":
            self.begin(self.tell([Said(text), Told(HELP)]))
        else:
            self._say(text, images)

    def pick(self, row: ConversationRow | None, picker: Picker) -> None:
        """Of another session, its latest conversation is the one that goes on there."""
        if row is None or row.id == picker.current:
            return
        if row.key != picker.here:
            self.link.switch(row.key)
            if picker.is_latest(row):
                return
        self.link.say(Draft(text=f"/resume {row.id}"))

    def _say(self, text: str, images: Sequence[Image]) -> None:
        named = named_images(text, self.opening.cwd)
        word = text.split(None, 1)[0].lower()
        command = any(word == each.name for each in self.link.commands)
        mode = None if command else self.mode
        self.link.say(Draft(text=text, images=(*images, *named), mode=mode))

    async def _offer(self) -> None:
        key, rows = self.link.key, await self.link.conversations()
        if not rows or key is None:
            await self.tell([Remark(NONE_BEFORE)])
            return
        self.picker = Picker(
            rows=[row for row in rows if row.key == key or LOCAL in row.key],
            here=key,
            current=self.link.board.scene.id,
            called=self.opening.called,
        )

    async def _mode(self, name: str) -> None:
        self.mode = next((mode for mode in MODES if mode == name), self.mode)
        await self.tell([Remark(f"While a turn runs, Enter does this: {self.mode}.")])

    async def _skin(self, name: str) -> None:
        known = {AUTO: "by what the terminal says", **{n: s.about for n, s in SKINS.items()}}
        if name not in known:
            lines = [f"{each:<10}{about}" for each, about in known.items()]
            await self.tell([Said(f"/skin {name}".strip()), Told("\n".join(lines))])
            return
        self.wear(name)
        await asyncio.to_thread(self.opening.keep_skin, name)
        await self.tell([Remark(f"The skin is {name} now, here and in later windows.", "good")])
