"""Draw the marks of the input line: one character as a few words."""

from collections.abc import Callable

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput


class MarkProcessor(Processor):
    """Replace marks by their labels. `label` returns the words for a character, or None."""

    def __init__(self, label: Callable[[str], str | None]) -> None:
        self._label = label

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        fragments = transformation_input.fragments
        text = fragment_list_to_text(fragments)
        if text.isascii():
            return Transformation(fragments)
        drawn: StyleAndTextTuples = []
        starts: list[int] = []  # where each character of the line is drawn
        width = 0
        for style, piece, *_ in fragments:
            for char in piece:
                label = self._label(char)
                starts.append(width)
                drawn.append((style, char) if label is None else (f"{style} class:mark", label))
                width += len(drawn[-1][1])
        starts.append(width)

        def to_display(place: int) -> int:
            return starts[place] if place < len(starts) else width + place - len(starts) + 1

        def to_source(place: int) -> int:
            if place >= width:
                return len(starts) - 1 + place - width
            return next(n for n in range(len(starts) - 1, -1, -1) if starts[n] <= place)

        return Transformation(drawn, source_to_display=to_display, display_to_source=to_source)
