"""Paste into the line: texts, pictures by path, pictures from the clipboard."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from hermes.tui.paste import (
    IMAGES_MAX,
    PASTE_CHARS_MAX,
    UNFOLDED_CHARS_MAX,
    Image,
    Pastes,
    clipboard_image,
    image_at,
    path_of,
)

NO_IMAGE = "There is no picture in the clipboard."
TOO_MANY = f"A message takes at most {IMAGES_MAX} pictures."
TOO_LONG = f"Only the first {PASTE_CHARS_MAX:,} characters of it were taken. Send a file instead."
TOO_LONG_TO_UNFOLD = "It is too long to be edited here. It is sent whole."


@dataclass(kw_only=True)
class Pasting:
    """Handle pastes. `begin` starts a background task, `tell` shows a hint above the line."""

    buffer: Buffer
    environ: Mapping[str, str]
    begin: Callable[[Coroutine[None, None, None]], None]
    tell: Callable[[str], None]
    pastes: Pastes = field(default_factory=Pastes)

    def paste(self, text: str) -> None:
        if not text.strip():
            self.paste_image()  # what a terminal sends for a clipboard without text
            return
        path = path_of(text)
        image = image_at(path) if path is not None else None
        if image is not None:
            self._attach(image)
            return
        self.tell(TOO_LONG if len(text) > PASTE_CHARS_MAX else "")
        self.buffer.insert_text(self.pastes.put(text))

    def paste_image(self) -> None:
        self.begin(self._paste_image())

    def unfold(self) -> bool:
        """Put the text of the mark at the cursor into the line. False when there is none."""
        line = self.buffer.text
        place = self.pastes.at(line, self.buffer.cursor_position)
        if place is None:
            return False
        text = self.pastes.whole(line[place])[0]
        if len(text) > UNFOLDED_CHARS_MAX:
            self.tell(TOO_LONG_TO_UNFOLD)
        else:
            before = f"{line[:place]}{text}"
            self.buffer.document = Document(f"{before}{line[place + 1 :]}", len(before))
        return True

    async def _paste_image(self) -> None:
        image = await clipboard_image(self.environ)
        if image is None:
            self.tell(NO_IMAGE)
        else:
            self._attach(image)

    def _attach(self, image: Image) -> None:
        mark = self.pastes.attach(image, self.buffer.text)
        self.tell("" if mark else TOO_MANY)
        self.buffer.insert_text(mark)
