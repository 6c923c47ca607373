"""The SQL of this store, read from its files once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from hermes.stores.queries import named

_NAME = re.compile(r"%\((\w+)\)[sb]")
_SELDOM = re.compile(r"^-- seldom$.*?^-- always$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Numbered:
    """A statement with its parameters by number, as the server wants them, and their names.

    psycopg parses a statement as long as the group commit's anew each time; this is done once.
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


def _batch(statements: Mapping[str, str]) -> Mapping[str, Numbered]:
    """Each part of a statement costs the server something, also when there is nothing for it."""
    plain = {f"plain_{title}": _SELDOM.sub("", each) for title, each in statements.items()}
    return {title: _numbered(each) for title, each in {**plain, **statements}.items()}


BATCH = _batch(_read("batch.sql"))
QUERY = {title: statement.encode() for title, statement in _read("queries.sql").items()}
UPKEEP = {title: statement.encode() for title, statement in _read("upkeep.sql").items()}
