"""Where a person writes: the line, what its keys set going, and how it is sent."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from prompt_toolkit.buffer import Buffer

from hermes.core.ids import SessionId
from hermes.tui.calls import CallView, unfolded
from hermes.tui.history import Kept
from hermes.tui.keys import HELP
from hermes.tui.link import Draft, Link
from hermes.tui.paste import Pastes, clipboard_image, image_at, named_images, path_of
from hermes.tui.picker import Picker
from hermes.tui.ports import LOCAL, Mode, Opening
from hermes.tui.questions import GRACE_S
from hermes.tui.shown import Remark, Said, Shown, Told
from hermes.tui.skins import AUTO, SKINS

MODES: Sequence[Mode] = get_args(Mode)
AGAIN_S = 2.0  # between the two Ctrl+C that leave
LEAVE = ("/exit", "/quit", "exit", "quit")
STOPPING = "Stopping the turn."
LEAVING = "Ctrl+C again leaves; Ctrl+D, too."
NO_IMAGE = "There is no picture in the clipboard."
UNFOLD_LINES = 200


@dataclass(kw_only=True)
class Desk:
    """`tell` shows something for good, `begin` lets something go on beside."""

    opening: Opening
    environ: Mapping[str, str]
    link: Link
    buffer: Buffer
    history: Kept
    tell: Callable[[Sequence[Shown]], Coroutine[None, None, None]]
    begin: Callable[[Coroutine[None, None, None]], None]
    quit: Callable[[], None]
    wear: Callable[[str], None]
    mode: Mode = "queue"
    typing: bool = False
    hint: str = ""
    picker: Picker | None = None
    looked_at: int | None = None  # the how-manieth last call is unfolded
    open_calls: bool = False
    pastes: Pastes = field(default_factory=Pastes)
    _pressed_at: float = 0.0

    def is_empty(self) -> bool:
        return not self.buffer.text

    def is_asking(self) -> bool:
        """A question is open, and the keys are for it."""
        question = self.link.board.question
        return bool(question and question.answers and self.is_empty() and not self.typing)

    def is_leaving(self) -> bool:
        """One Ctrl+C of two has been pressed, a moment ago."""
        return self.opening.clock() - self._pressed_at < AGAIN_S

    def is_picking(self) -> bool:
        return self.picker is not None

    def is_unfolded(self) -> bool:
        return self.looked_at is not None

    @property
    def unfolded(self) -> CallView | None:
        found = self.link.board.finished
        if self.looked_at is None or not found:
            return None
        return found[-1 - min(self.looked_at, len(found) - 1)]

    def submit(self) -> None:
        self.hint = ""
        buffer, state = self.buffer, self.buffer.complete_state
        if self.picker is not None:
            self._picked(self.picker)
        elif state is not None and state.current_completion is not None:
            buffer.complete_state = None  # it stands in the line already
        elif buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        elif not buffer.text.strip():
            buffer.reset()
            self.typing = False
        else:
            text, images = self.pastes.whole(buffer.text)
            self.history.append_string(text)
            buffer.reset()
            self.pastes = Pastes()
            self._enter(text.strip("\n"), images)

    def newline(self) -> None:
        self.buffer.newline(copy_margin=False)

    def interrupt(self) -> None:
        """Stops what runs; else it clears the line; else, twice, it leaves."""
        board, now = self.link.board, self.opening.clock()
        if self.picker is not None:
            self.step_back()
        elif board.turn is not None and self.hint != STOPPING:
            self.hint = STOPPING
            self.link.say(Draft(text=f"/stop {board.turn}"))
        elif self.buffer.text:
            self.buffer.reset()
        elif self.is_leaving():
            self.leave()
        else:
            self._pressed_at, self.hint = now, LEAVING

    def leave(self) -> None:
        self.quit()

    def answer(self, key: str) -> None:
        """A key that was on its way to the line when the question came up goes into the line."""
        question = self.link.board.question
        if self.opening.clock() - self.link.board.asked_at < GRACE_S:
            self.buffer.insert_text(key)
        elif question is not None and (said := question.says(key.lower())):
            self.link.say(Draft(text=said))

    def step_back(self) -> None:
        if self.picker is not None:
            self.picker = None
            self.buffer.reset()
        elif self.is_asking():
            self.typing = True
        else:
            self.looked_at = None

    def cycle(self) -> None:
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]

    def fold(self) -> None:
        if self.link.board.running:
            self.open_calls = not self.open_calls
        else:
            self.looked_at = 0 if self.looked_at is None else None

    def look_at(self, by: int) -> None:
        last = len(self.link.board.finished) - 1
        self.looked_at = max(0, min((self.looked_at or 0) + by, last))

    def choose(self, by: int) -> None:
        if self.picker is not None:
            self.picker.move(by, self.buffer.text)

    def paste(self, text: str) -> None:
        if not text.strip():
            self.paste_image()  # what a terminal sends for a clipboard without text
            return
        path = path_of(text)
        image = image_at(path) if path is not None else None
        put = self.pastes.attach(image) if image is not None else self.pastes.put(text)
        self.buffer.insert_text(put)

    def paste_image(self) -> None:
        self.begin(self._paste_image())

    async def _paste_image(self) -> None:
        image = await clipboard_image(self.environ)
        if image is None:
            self.hint = NO_IMAGE
        else:
            self.buffer.insert_text(self.pastes.attach(image))

    def _enter(self, text: str, images: Sequence[tuple[bytes, str, str]]) -> None:
        word, _, rest = text.partition(" ")
        argument = rest.strip()
        if text.strip() in LEAVE:
            self.leave()
        elif word == "/resume" and not argument:
            self.begin(self._pick())
        elif word == "/skin":
            self.begin(self._skin(argument))
        elif word == "/unfold":
            self.begin(self._unfold(text, argument))
        elif word == "/mode" and argument in MODES:
            self.mode = MODES[MODES.index(argument)]
        elif word == "/keys":
            self.begin(self.tell([Said(text), Told(HELP)]))
        else:
            self._say(text, images)

    def _say(self, text: str, images: Sequence[tuple[bytes, str, str]]) -> None:
        named = named_images(text, self.opening.cwd)
        word = text.split(None, 1)[0].lower()
        command = any(word == each.name for each in self.link.commands)
        mode = None if command else self.mode
        self.link.say(Draft(text=text, images=(*images, *named), mode=mode))

    async def _pick(self) -> None:
        rows = await self.link.conversations()
        key = self.link.key
        if not rows or key is None:
            await self.tell([Remark("There is no earlier conversation here.")])
            return
        self.picker = Picker(
            rows=[row for row in rows if row.key == key or LOCAL in row.key],
            here=key,
            current=self.link.board.scene.id,
            called=self.opening.called,
        )
        self.buffer.reset()

    def _picked(self, picker: Picker) -> None:
        row = picker.picked(self.buffer.text)
        self.picker = None
        self.buffer.reset()
        if row is None or row.id == picker.current:
            return
        if row.key != picker.here:
            self.link.switch(row.key)
            if not self._is_latest(picker, row.id):
                self.link.say(Draft(text=f"/resume {row.id}"))
        else:
            self.link.say(Draft(text=f"/resume {row.id}"))

    def _is_latest(self, picker: Picker, id_: SessionId) -> bool:
        """Of its lane: then it is the one that goes on there."""
        row = next(row for row in picker.rows if row.id == id_)
        return max((each.at, each.id) for each in picker.rows if each.key == row.key)[1] == id_

    async def _skin(self, name: str) -> None:
        known = {AUTO: "by what the terminal says", **{n: s.about for n, s in SKINS.items()}}
        if name not in known:
            lines = [f"{each:<10}{about}" for each, about in known.items()]
            await self.tell([Said(f"/skin {name}".strip()), Told("\n".join(lines))])
            return
        self.wear(name)
        await asyncio.to_thread(self.opening.keep_skin, name)
        await self.tell([Remark(f"The skin is {name} now, here and in later windows.", "good")])

    async def _unfold(self, text: str, argument: str) -> None:
        found, number = self.link.board.finished, int(argument) if argument.isdecimal() else 1
        if not 1 <= number <= len(found):
            await self.tell([Said(text), Told("There is no such call.")])
            return
        call = found[-number]
        lines = unfolded(call, self.opening.clock(), UNFOLD_LINES, 1_000)
        await self.tell([Said(text), Told("\n".join(lines))])
