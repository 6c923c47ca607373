"""Where what a session has read came from, and what in it a person wrote with their own hands."""

from msgspec.structs import replace

from hermes.core.events import View
from hermes.core.messages import PROVENANCE, Inbound

WORDS_MAX = 4_000
SOURCES_MAX = 8  # the latest ones that a card names
SOURCE_CHARS_MAX = 120


def labelled(view: View, *labels: tuple[str, ...]) -> View:
    """Labels only accumulate."""
    read = {label for some in labels for label in some if label in PROVENANCE}
    return replace(view, labels=tuple(sorted({*view.labels, *read}))) if read else view


def read_with(view: View, taken: tuple[Inbound, ...]) -> View:
    """With what these messages bring, and the conversation that came with them."""
    before = (line.labels for inbound in taken for line in inbound.before)
    return labelled(view, *(inbound.labels for inbound in taken), *before)


def words_of(known: str, taken: tuple[Inbound, ...]) -> str:
    """Nothing that was passed on, nothing labelled."""
    own = [i.text for i in taken if i.origin == "person" and not PROVENANCE & {*i.labels}]
    return "\n".join([*([known] if known else ()), *own])[:WORDS_MAX]


def sources_with(known: tuple[str, ...], *new: str) -> tuple[str, ...]:
    """The names of what was read, each once, the latest last."""
    named = (name[:SOURCE_CHARS_MAX] for name in (*known, *new) if name)
    return tuple(dict.fromkeys(named))[-SOURCES_MAX:]
