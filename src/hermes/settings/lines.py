"""Find the line of a setting in config.yaml, for error messages. Pure."""

import re

_KEY = re.compile(r"""( *)["']?([A-Za-z_][\w.-]*)["']? *:(?: |$)""")


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """Return the line of this key, or of the section or list that holds it; None if neither
    exists."""
    listed = next((n for n, name in enumerate(path, start=1) if "[" in name), len(path))
    names = [name.partition("[")[0] for name in path[:listed]]
    above: list[tuple[int, str]] = []  # indentation of each key, outermost first
    best, depth = None, 0
    for number, line in enumerate(text.splitlines(), start=1):
        found = _KEY.match(line)
        if found is None:
            continue
        indent = len(found[1])
        above = [(far, name) for far, name in above if far < indent] + [(indent, found[2])]
        here = [name for _far, name in above]
        if len(here) > depth and here == names[: len(here)]:
            best, depth = number, len(here)
    return best
