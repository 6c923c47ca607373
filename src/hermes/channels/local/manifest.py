"""The facts of this channel, for each of its two sides."""

from msgspec.structs import replace

from hermes.core.channel import ButtonLimits, Manifest

HINTS = (
    "You are read in a terminal, as you write: plain text, short lines, few marks. Code in fences; "
    "no HTML, no wide tables. Paths and commands exactly, so that they can be copied."
)
# The window and the chat offer every button as a key, so none is written out as a command. They
# have no room for labels: a question names its own choices in its text.
BUTTONS = ButtonLimits(rows=100, per_row=1, label_chars=0, value_bytes=1_000)
# A chat with an engine of its own, and one of a gateway.
OWN = Manifest(name="local", audience="owner", on_doubt="same_key", hints=HINTS, buttons=BUTTONS)
SERVED = replace(OWN, attended=True)
