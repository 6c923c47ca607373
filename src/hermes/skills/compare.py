"""Compare two skill trees as a unified diff that makes invisible characters visible."""

from collections.abc import Iterator

from hermes.skills.scan import laid_open
from hermes.skills.tree import Tree
from hermes.text.similar import changes

LINES_MAX = 2_000
LINE_CHARS_MAX = 400


def difference(before: Tree, after: Tree) -> str:
    """Return the diff; "" if both trees are the same."""
    lines: list[str] = []
    for path in sorted(before.keys() | after.keys()):
        lines += _file(path, before.get(path), after.get(path))
        if len(lines) > LINES_MAX:
            lines = [*lines[:LINES_MAX], f"… and more; at most {LINES_MAX} lines are shown"]
            break
    return "\n".join(lines) + "\n" if lines else ""


def _file(path: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    if before == after:
        return
    old = f"a/{path}" if before is not None else "/dev/null"
    new = f"b/{path}" if after is not None else "/dev/null"
    try:
        texts = [(side or b"").decode("utf-8").splitlines() for side in (before, after)]
    except UnicodeDecodeError:
        yield from (f"--- {old}", f"+++ {new}")
        yield f"Binary: {len(before or b''):,} bytes before, {len(after or b''):,} now"
        return
    for line in changes(texts[0], texts[1], (old, new)):
        shown = laid_open(line)
        yield shown if len(shown) <= LINE_CHARS_MAX else f"{shown[:LINE_CHARS_MAX]}…"
