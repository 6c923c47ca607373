"""Trust checks by which everyone is the owner, for tests of something else."""

from hermes.core.people import Role, Sender


async def anybody(_sender: Sender) -> Role:
    return Role.OWNER


async def no_answer(_sender: Sender, _name: str, _text: str) -> str:
    return ""
