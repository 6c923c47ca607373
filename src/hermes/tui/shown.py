"""What goes onto the screen for good, in the order in which it happened."""

from typing import Literal

from msgspec import Struct

from hermes.tui.calls import CallView

MARK = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"  # before what a person says

Tone = Literal["quiet", "good", "bad", "warn"]


class Said(Struct, frozen=True):
    """Words of a person."""

    text: str
    note: str = ""  # who else, or how it was said


class Prose(Struct, frozen=True):
    """Words of the model, whole blocks of Markdown."""

    text: str


class Told(Struct, frozen=True):
    """Words of Hermes itself, as they are."""

    text: str


class Called(Struct, frozen=True):
    """A call that has ended."""

    call: CallView


class Remark(Struct, frozen=True):
    """What happened, in a line."""

    text: str
    tone: Tone = "quiet"


Shown = Said | Prose | Told | Called | Remark
