"""Where a person writes: the line, what its keys set going, and how it is sent."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field

from prompt_toolkit.buffer import Buffer

from hermes.tui.calls import CallView
from hermes.tui.history import Kept
from hermes.tui.link import Draft, Link
from hermes.tui.orders import MODES, Orders
from hermes.tui.paste import Pastes, clipboard_image, image_at, path_of
from hermes.tui.ports import Opening
from hermes.tui.questions import GRACE_S

AGAIN_S = 2.0  # between the two Ctrl+C that leave
STOPPING = "Stopping the turn."
LEAVING = "Ctrl+C again leaves; Ctrl+D, too."
NO_IMAGE = "There is no picture in the clipboard."


@dataclass(kw_only=True)
class Desk:
    """`begin` lets something go on beside."""

    opening: Opening
    environ: Mapping[str, str]
    link: Link
    buffer: Buffer
    history: Kept
    orders: Orders
    begin: Callable[[Coroutine[None, None, None]], None]
    quit: Callable[[], None]
    typing: bool = False
    hint: str = ""
    looked_at: int | None = None  # the how-manieth last call is unfolded
    open_calls: bool = False
    pastes: Pastes = field(default_factory=Pastes)
    _pressed_at: float = 0.0

    def is_empty(self) -> bool:
        return not self.buffer.text

    def is_asking(self) -> bool:
        """A question is open, and the keys are for it."""
        question = self.link.board.question
        free = self.is_empty() and not self.typing and self.orders.picker is None
        return bool(question and question.answers) and free

    def is_leaving(self) -> bool:
        """One Ctrl+C of two has been pressed, a moment ago."""
        return self.opening.clock() - self._pressed_at < AGAIN_S

    def is_picking(self) -> bool:
        return self.orders.picker is not None

    def is_unfolded(self) -> bool:
        return self.looked_at is not None

    @property
    def unfolded(self) -> CallView | None:
        found = self.link.board.calls.finished
        if self.looked_at is None or not found:
            return None
        return found[-1 - min(self.looked_at, len(found) - 1)]

    def submit(self) -> None:
        self.hint = ""
        buffer, state = self.buffer, self.buffer.complete_state
        if self.orders.picker is not None:
            self.orders.pick(self.orders.picker.picked(buffer.text), self.orders.picker)
            self.orders.picker = None
            buffer.reset()
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
            self.orders.enter(text.strip("\n"), images)

    def newline(self) -> None:
        self.buffer.newline(copy_margin=False)

    def interrupt(self) -> None:
        """Stops what runs; else it clears the line; else, twice, it leaves."""
        board, now = self.link.board, self.opening.clock()
        if self.orders.picker is not None:
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
        if self.orders.picker is not None:
            self.orders.picker = None
            self.buffer.reset()
        elif self.is_asking():
            self.typing = True
        else:
            self.looked_at = None

    def cycle(self) -> None:
        at = MODES.index(self.orders.mode) + 1
        self.orders.mode = MODES[at % len(MODES)]

    def fold(self) -> None:
        if self.link.board.calls.running:
            self.open_calls = not self.open_calls
        else:
            self.looked_at = 0 if self.looked_at is None else None

    def look_at(self, by: int) -> None:
        last = len(self.link.board.calls.finished) - 1
        self.looked_at = max(0, min((self.looked_at or 0) + by, last))

    def choose(self, by: int) -> None:
        if self.orders.picker is not None:
            self.orders.picker.move(by, self.buffer.text)

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
