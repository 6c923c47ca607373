"""What the owner has allowed for good: calls by the letter, or by a narrow template.

Values only. A grant is made from one approved call, for one person, tool and sandbox, and expires.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import Struct

GRANT_S = 30 * 24 * 3600.0
Profile = Literal["read", "write", "net", "host"]  # of the sandbox; host: none around it


class Template(Struct, frozen=True, kw_only=True):
    """A call with its places left open: one program, these options, nothing outside these paths."""

    tool: str
    program: str  # its real path where that is known
    subcommand: str = ""
    options: frozenset[str] = frozenset()
    operands: tuple[str, ...] = ()  # those that are no paths, to the letter
    paths: tuple[str, ...] = ()  # absolute and normalised; beneath one of them is inside

    def covers(self, call: "Template") -> bool:
        same = (self.tool, self.program, self.subcommand, self.operands) == (
            (call.tool, call.program, call.subcommand, call.operands)
        )
        inside = all(any(is_beneath(path, root) for root in self.paths) for path in call.paths)
        counted = bool(self.paths) == bool(call.paths)
        return same and counted and inside and call.options <= self.options


class Grant(Struct, frozen=True, kw_only=True):
    """The owner said "always", once, about one call. Exact when it has no template."""

    id: str
    principal: str
    tool: str
    arguments: str  # of the call that it was made from, canonical
    profile: Profile
    expires_at: float
    template: Template | None = None


def granted(
    grants: Sequence[Grant], arguments: str, template: Template | None
) -> tuple[bool, bool]:
    """Is the call granted to the letter, and is it by a template?"""
    exact = any(each.arguments == arguments for each in grants if each.template is None)
    patterns = [each.template for each in grants if each.template is not None]
    return exact, template is not None and any(each.covers(template) for each in patterns)


def canonical(arguments: str) -> str:
    """The same text for the same arguments, however they are spaced and ordered."""
    value = msgspec.json.decode(arguments)
    return msgspec.json.encode(value, order="sorted").decode()


def is_beneath(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
