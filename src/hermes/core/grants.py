"""What the owner has allowed beyond one call: by the letter, or by a narrow template.

Values only. A grant is made from one approved call, for one person, tool and sandbox, and expires.
"Always" is kept in the register; "for this session" is kept in the conversation and ends with it.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import Struct

GRANT_S = 30 * 24 * 3600.0
PATH = "…"  # stands for a path in the shape of a template
CODE = "(code)"  # in the place of a program: all code of the folder; no program has this name
Profile = Literal["read", "write", "net", "host"]  # of the sandbox; host: none around it


class Template(Struct, frozen=True, kw_only=True):
    """A call with its places left open: one program, these options, nothing outside these paths.

    `shape` is every word behind the program, in order, with PATH for each path: a word more or
    less, or in another place, is another command.
    """

    tool: str
    program: str  # its real path where that is known
    subcommand: str = ""
    options: frozenset[str] = frozenset()
    operands: tuple[str, ...] = ()  # those that are no paths, to the letter
    paths: tuple[str, ...] = ()  # absolute and normalised; each call's is at or beneath its own
    shape: tuple[str, ...] = ()
    workdir: str = ""  # where it is run

    def covers(self, call: "Template") -> bool:
        same = msgspec.structs.replace(call, paths=self.paths) == self
        counted = len(self.paths) == len(call.paths)
        return same and counted and all(map(is_beneath, call.paths, self.paths))


class Grant(Struct, frozen=True, kw_only=True):
    """The owner said "always", or "for this session", once, about one call. Exact when it has no
    template; with an `identity` it is exact besides."""

    id: str
    principal: str
    tool: str
    arguments: str  # of the call that it was made from, canonical
    profile: Profile
    expires_at: float
    template: Template | None = None
    identity: str = ""  # equal for the same call to the letter; "": its arguments are that


def granted(grants: Sequence[Grant], identity: str, template: Template | None) -> tuple[bool, bool]:
    """Return whether the call is granted exactly, and whether by a template."""
    exact = any(
        (each.identity or each.arguments) == identity
        for each in grants
        if each.template is None or each.identity
    )
    patterns = [each.template for each in grants if each.template is not None]
    return exact, template is not None and any(each.covers(template) for each in patterns)


def canonical(arguments: str) -> str:
    """The same text for the same arguments, however they are spaced and ordered."""
    value = msgspec.json.decode(arguments)
    return msgspec.json.encode(value, order="sorted").decode()


def is_beneath(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
