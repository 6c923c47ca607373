"""A model that delegates, and children that answer by a rule."""

from collections.abc import Callable
from typing import Any

from hermes.testing.model import Asked, Says

DELEGATE = "delegate_task"


class Boss:
    """A rule for both sides: what the parent asks for, and what a child says to its goal."""

    def __init__(self, arguments: dict[str, Any], child: Callable[[Asked], Any]) -> None:
        self.arguments = arguments
        self.child = child
        self.parent: list[Asked] = []
        self.children: list[Asked] = []

    async def __call__(self, asked: Asked) -> Says:
        if "You are a subagent" in asked.system:
            self.children.append(asked)
            said = self.child(asked)
            return said if isinstance(said, Says) else await said
        self.parent.append(asked)
        if not asked.said.rpartition("\n")[2].startswith("go"):
            return Says(f"heard: {asked.said}")
        return (
            Says("\n".join(asked.results))
            if asked.results
            else Says(calls=((DELEGATE, self.arguments),))
        )
