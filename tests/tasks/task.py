"""What a task is: what the person says, what an oracle would do, and how the outcome is checked."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Call = tuple[str, Mapping[str, Any]]
Move = Sequence[Call] | str  # calls, or the answer that ends the turn
Play = Move | Callable[[Sequence[str]], Move]  # the results of the turn so far are its argument


@dataclass(frozen=True)
class Turn:
    """One message of the person, and the moves of the oracle."""

    text: str
    plays: Sequence[Play]
    fresh: bool = False  # in a new conversation


@dataclass
class Outcome:
    """What there is when a task was played."""

    work: Path
    home: Path
    replies: list[str] = field(default_factory=list)  # one for each turn
    facts: dict[str, str] = field(default_factory=dict)  # of the last conversation
    calls: int = 0

    @property
    def reply(self) -> str:
        return self.replies[-1] if self.replies else ""

    def text(self, name: str) -> str:
        """Return the file's text; a text that fits nothing if there is none."""
        file = self.work / name
        return file.read_text(encoding="utf-8") if file.is_file() else "(there is no such file)"

    @property
    def memory(self) -> str:
        folder = self.home / "memories"
        return "\n".join(file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.md")))

    @property
    def todo(self) -> dict[str, str]:
        """Return the state of each item of the plan, by its words."""
        items = json.loads(self.facts.get("todo") or "[]")
        return {str(item["content"]).lower(): str(item["status"]) for item in items}


@dataclass(frozen=True)
class Task:
    name: str
    turns: Sequence[Turn]
    check: Callable[[Outcome], bool]
    files: Mapping[str, str] = field(default_factory=dict)
    skills: Mapping[str, str] = field(default_factory=dict)  # of the person, by name

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]


def read(path: str) -> Call:
    return "read_file", {"path": path}


def write(path: str, content: str) -> Call:
    return "write_file", {"path": path, "content": content}


def edit(path: str, old: str, new: str) -> Call:
    return "patch", {"path": path, "old_string": old, "new_string": new}


def run(command: str) -> Call:
    return "terminal", {"command": command}
