"""Which key does what."""

from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

HELP = """\
Enter           send                     Alt+Enter, Ctrl+J   a new line (or \\ at the end)
/ and @         complete commands, files Tab                 the next completion
↑ ↓             earlier lines            Ctrl+R              search them
Ctrl+C          stop the turn; twice at an empty line: leave
Ctrl+D          leave                    Ctrl+L              clear the screen
Ctrl+T, Alt+M   what Enter does while a turn runs: queue, steer, interrupt
Ctrl+O          unfold the last call     Alt+↑ Alt+↓         other calls
Alt+V           paste a picture          y n a               answer a question"""


class Desk(Protocol):
    """What the keys set going."""

    def is_empty(self) -> bool: ...

    def is_asking(self) -> bool: ...

    def is_picking(self) -> bool: ...

    def is_unfolded(self) -> bool: ...

    def submit(self) -> None: ...

    def newline(self) -> None: ...

    def interrupt(self) -> None: ...

    def leave(self) -> None: ...

    def answer(self, key: str) -> None: ...

    def step_back(self) -> None: ...

    def cycle(self) -> None: ...

    def fold(self) -> None: ...

    def look_at(self, by: int) -> None: ...

    def choose(self, by: int) -> None: ...

    def paste(self, text: str) -> None: ...

    def paste_image(self) -> None: ...


def bindings(desk: Desk) -> KeyBindings:
    keys = KeyBindings()
    asking, picking = Condition(desk.is_asking), Condition(desk.is_picking)
    unfolded = Condition(desk.is_unfolded)
    table: tuple[tuple[tuple[str, ...], Callable[[], object]], ...] = (
        (("enter",), desk.submit),
        (("escape", "enter"), desk.newline),
        (("c-j",), desk.newline),
        (("c-c",), desk.interrupt),
        (("<sigint>",), desk.interrupt),
        (("c-t",), desk.cycle),
        (("escape", "m"), desk.cycle),
        (("c-o",), desk.fold),
        (("escape", "up"), lambda: desk.look_at(1)),
        (("escape", "down"), lambda: desk.look_at(-1)),
        (("escape", "v"), desk.paste_image),
    )
    for words, act in table:
        _bind(keys, words, act)
    empty = Condition(desk.is_empty)

    @keys.add("c-d", filter=empty)
    def _leave(_event: KeyPressEvent) -> None:
        desk.leave()

    @keys.add("c-l")
    def _clear(event: KeyPressEvent) -> None:
        event.app.renderer.clear()

    @keys.add(Keys.BracketedPaste)
    def _paste(event: KeyPressEvent) -> None:
        desk.paste(event.data)

    @keys.add(Keys.Any, filter=asking)
    def _answer(event: KeyPressEvent) -> None:
        desk.answer(event.data)

    @keys.add("escape", filter=asking | picking | unfolded)
    def _back(_event: KeyPressEvent) -> None:
        desk.step_back()

    @keys.add("up", filter=picking)
    def _up(_event: KeyPressEvent) -> None:
        desk.choose(-1)

    @keys.add("down", filter=picking)
    def _down(_event: KeyPressEvent) -> None:
        desk.choose(1)

    return keys


def _bind(keys: KeyBindings, words: tuple[str, ...], act: Callable[[], object]) -> None:
    @keys.add(*words)
    def _act(_event: KeyPressEvent) -> None:
        act()
