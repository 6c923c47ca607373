"""Read what a person typed before the window was ready."""

import select

from prompt_toolkit.input import Input
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

KEYS_MAX = 10_000


def typed_ahead(source: Input) -> list[KeyPress]:
    """Return the keys typed before the window was ready. The terminal was in its usual mode then
    and turned each Enter into a line feed."""
    keys: list[KeyPress] = []
    while len(keys) < KEYS_MAX and select.select([source.fileno()], [], [], 0)[0]:
        read = source.read_keys()
        if not read and source.closed:
            break
        keys += read
    return [KeyPress(Keys.Enter, "\r") if key.key == Keys.ControlJ else key for key in keys]
