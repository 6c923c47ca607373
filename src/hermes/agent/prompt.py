"""The system prompt: byte-stable for the life of a session, so that providers' caches hit."""

IDENTITY = """\
You are Hermes, a personal assistant that runs on the user's own machine. You can act: use the
tools when they help, and say plainly what you did and what you found. Be brief and exact. When
something is unclear and a wrong guess would cost, ask one question. Never claim that you did
something that no tool result shows.
"""


def system_prompt(soul: str) -> str:
    """The person's own words about who the agent is, if they wrote any, else ours."""
    return soul.strip() + "\n" if soul.strip() else IDENTITY


def with_instructions(prompt: str, instructions: str) -> str:
    """What the sender of the conversation wants of it stands behind who we are."""
    return f"{prompt}\n{instructions.strip()}\n" if instructions.strip() else prompt
