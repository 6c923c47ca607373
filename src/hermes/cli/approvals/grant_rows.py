"""Shared by the approvals commands: find a row by its id, and describe a grant."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from hermes.core.errors import Rejected
from hermes.core.grants import Grant
from hermes.text.visible_text import visible_text
from hermes.views.cards import described

LISTED_MAX = 500
T = TypeVar("T")


def one(rows: Sequence[T], name: str, id_of: Callable[[T], str], what: str) -> T:
    """Return the row whose id begins with `name`. Raise Rejected for none, or several."""
    found = [row for row in rows if id_of(row).startswith(name)] if name else []
    if len(found) == 1:
        return found[0]
    problem = "there is no such" if not found else "there are several such"
    raise Rejected(f"{name}: {problem} {what}{'s' if found else ''}")


def describe_grant(grant: Grant) -> str:
    template = grant.template
    if template is None:
        return visible_text(grant.arguments)
    where = f" in {visible_text(template.workdir)}" if template.workdir else ""
    return f"{described(template)}{where}"
