"""Read SQL from files, in which each statement follows a line `-- name: …`."""

from collections.abc import Mapping

_MARK = "-- name:"


def named(text: str) -> Mapping[str, str]:
    """Return the statements of a file by name. Text above the first name is a comment."""
    statements: dict[str, str] = {}
    for part in f"\n{text}".split(f"\n{_MARK}")[1:]:
        name, _, statement = part.partition("\n")
        if name.strip() in statements:
            raise ValueError(f"two statements are named {name.strip()}")
        statements[name.strip()] = statement.strip().removesuffix(";")
    return statements
