"""A number and its noun, as people say them."""


def counted(number: int, thing: str, things: str = "") -> str:
    """`1 line`, `2 lines`, `1,000 replies`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {things or thing + 's'}"
