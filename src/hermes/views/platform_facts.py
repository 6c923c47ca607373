"""What a platform can do and what it limits, in words, from its manifest."""

from collections.abc import Iterator

from hermes.core.channel import Manifest
from hermes.text.plurals import counted

HOUR_S = 3600.0


def facts_in_words(manifest: Manifest) -> str:
    """Return the facts that a person notices, the limits first; empty when there are none."""
    return ", ".join(_facts(manifest))


def _facts(manifest: Manifest) -> Iterator[str]:
    if manifest.window_s:
        hours = round(manifest.window_s / HOUR_S, 1)
        yield f"replies only within {hours:g} hours after a person's message"
    if manifest.file_bytes_max:
        yield f"files up to {manifest.file_bytes_max / 1e6:g} MB"
    if manifest.buttons is not None:
        yield f"up to {counted(manifest.buttons.rows, 'button')}"
    elif not manifest.fetched and not manifest.attended:
        yield "choices as text"
    if manifest.threads:
        yield "threads"
    if manifest.edits and manifest.draft_s:
        yield "answers shown while they are written"
    if manifest.reactions and manifest.receipts:
        yield "a sign on stored messages"
    if manifest.ack_s:
        yield f"acknowledges or refuses within {manifest.ack_s:g} s"
