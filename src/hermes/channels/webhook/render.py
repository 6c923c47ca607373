"""Replies as this channel would send them: whole. Nothing is sent; whoever wants one reads it."""


def render(text: str) -> tuple[str, ...]:
    return (text,)
