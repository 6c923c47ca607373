"""The SQL of this store, read from its files once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from hermes.stores.queries import named

_NAME = re.compile(r"%\((\w+)\)[sb]")
_PART = re.compile(r"^-- (?:with (\w+)|always)\n", re.MULTILINE)


@dataclass(frozen=True)
class Numbered:
    """A statement with numbered parameters, as the server takes them, and their names.

    psycopg would parse the long statement of the group commit each time; this parses it once.
    """

    text: bytes
    names: tuple[str, ...]

    def values(self, arrays: Mapping[str, object]) -> list[object]:
        return [arrays[name] for name in self.names]


def _read(name: str) -> Mapping[str, str]:
    file = resources.files("hermes.stores.postgres") / "sql" / name
    return named(file.read_text(encoding="utf-8"))


def _numbered(statement: str) -> Numbered:
    names = tuple(dict.fromkeys(_NAME.findall(statement)))
    text = _NAME.sub(lambda found: f"${names.index(found[1]) + 1}", statement)
    return Numbered(text.encode(), names)


_BATCH = _read("batch.sql")
_PARTS = {title: tuple(filter(None, _PART.findall(text))) for title, text in _BATCH.items()}

BATCH = {title: _numbered(statement) for title, statement in _BATCH.items()}
QUERY = {title: statement.encode() for title, statement in _read("queries.sql").items()}
UPKEEP = {title: statement.encode() for title, statement in _read("upkeep.sql").items()}


def fitting(title: str, arrays: Mapping[str, object]) -> Numbered:
    """Return the statement without the parts that have no data, because the server pays for each
    part."""
    return _fit(title, tuple(part for part in _PARTS[title] if part in arrays))


@cache
def _fit(title: str, parts: tuple[str, ...]) -> Numbered:
    """Return the statement with only these parts. `-- with x` begins a part that needs the array
    x."""
    text, *rest = _PART.split(_BATCH[title])
    pairs = zip(rest[::2], rest[1::2], strict=True)
    return _numbered(text + "".join(piece for part, piece in pairs if not part or part in parts))
