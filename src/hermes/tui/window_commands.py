"""Handle a line that was entered: a command of the window itself, or a message to send."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import get_args

from hermes.core.store import ConversationRow
from hermes.tui.calls import in_full
from hermes.tui.keys import HELP
from hermes.tui.link import Image, OutgoingDraft, SessionLink
from hermes.tui.paste import named_images
from hermes.tui.picker import Picker
from hermes.tui.ports import LOCAL, Mode, WindowSettings
from hermes.tui.skins import AUTO, SKINS
from hermes.tui.transcript_items import HermesText, NoticeLine, PersonText, TranscriptItem
from hermes.views.command_words import is_command

MODES: Sequence[Mode] = get_args(Mode)
LEAVE = ("/exit", "/quit", "exit", "quit")
NONE_BEFORE = "There is no earlier conversation here."


@dataclass(kw_only=True)
class WindowCommands:
    """The window's own commands. `tell` prints text, `begin` starts a background task."""

    opening: WindowSettings
    link: SessionLink
    tell: Callable[[Sequence[TranscriptItem]], Coroutine[None, None, None]]
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
            self.begin(self.tell([PersonText(text), HermesText(full)]))
        elif word == "/mode":
            self.begin(self._mode(argument))
        elif word == "/keys":
            self.begin(self.tell([PersonText(text), HermesText(HELP)]))
        else:
            self._say(text, images)

    def pick(self, row: ConversationRow | None, picker: Picker) -> None:
        if row is None or row.id == picker.current:
            return
        if row.key != picker.here:
            self.link.switch(row.key, row.id)
        else:
            self.link.say(OutgoingDraft(text=f"/resume {row.id}"))

    def _say(self, text: str, images: Sequence[Image]) -> None:
        named = named_images(text, self.opening.cwd)
        mode = None if is_command(text) else self.mode
        self.link.say(OutgoingDraft(text=text, images=(*images, *named), mode=mode))

    async def _offer(self) -> None:
        key, rows = self.link.key, await self.link.conversations()
        if not rows or key is None:
            await self.tell([NoticeLine(NONE_BEFORE)])
            return
        self.picker = Picker(
            rows=[row for row in rows if row.key == key or LOCAL in row.key],
            here=key,
            current=self.link.board.scene.id,
            called=self.opening.called,
        )
        await self.tell([])  # it is drawn now, whatever else happens

    async def _mode(self, name: str) -> None:
        self.mode = next((mode for mode in MODES if mode == name), self.mode)
        await self.tell([NoticeLine(f"While a turn runs, Enter does this: {self.mode}.")])

    async def _skin(self, name: str) -> None:
        known = {AUTO: "by what the terminal says", **{n: s.about for n, s in SKINS.items()}}
        if name not in known:
            lines = [f"{each:<10}{about}" for each, about in known.items()]
            await self.tell([PersonText(f"/skin {name}".strip()), HermesText("\n".join(lines))])
            return
        self.wear(name)
        await asyncio.to_thread(self.opening.keep_skin, name)
        await self.tell([NoticeLine(f"The skin is {name} now, here and in later windows.", "good")])
