"""Replies of this channel: whole. Nothing is sent; clients read them."""


def render(text: str) -> tuple[str, ...]:
    return (text,)
