"""Memories in a folder of their own, with a clock that a test can set."""

from dataclasses import dataclass, field
from pathlib import Path

from hermes.memory.files import FileMemories
from hermes.ports.memory import (
    By,
    MemoryChange,
    MemoryClaim,
    MemoryProposal,
    MemoryVersion,
    Same,
    Target,
)

PERSON = By(author="person")
AGENT = By(author="agent", turn="t1")
BACKGROUND = By(author="background", turn="t2")
STRANGER = By(author="agent", turn="t3", trust="untrusted")


@dataclass
class Shelf:
    folder: Path
    memory_chars: int = 4_000
    now: float = 1_000_000.0
    memories: FileMemories = field(init=False)

    def __post_init__(self) -> None:
        self.memories = self.again()

    def again(self) -> FileMemories:
        """As another process would see it."""
        return FileMemories(
            self.folder, memory_chars=self.memory_chars, user_chars=2_500, clock=lambda: self.now
        )

    def file(self, name: str = "MEMORY.md") -> Path:
        return self.folder / name

    def write(self, text: str, name: str = "MEMORY.md") -> None:
        self.folder.mkdir(exist_ok=True)
        self.file(name).write_text(text, "utf-8")

    def read(self, name: str = "MEMORY.md") -> str:
        return self.file(name).read_text("utf-8")

    def texts(self, target: Target = "memory") -> list[str]:
        return [entry.text for entry in self.memories.entries(target)]

    def add(
        self, text: str, by: By = AGENT, target: Target = "memory"
    ) -> MemoryVersion | MemoryProposal | Same:
        return self.memories.change(
            MemoryChange(action="add", target=target, new=(MemoryClaim(text),)), by
        )

    def replace(
        self, old: str | tuple[str, ...], text: str, by: By = AGENT
    ) -> MemoryVersion | MemoryProposal | Same:
        olds = (old,) if isinstance(old, str) else old
        change = MemoryChange(action="replace", target="memory", new=(MemoryClaim(text),), old=olds)
        return self.memories.change(change, by)

    def remove(self, old: str, by: By = AGENT) -> MemoryVersion | MemoryProposal | Same:
        return self.memories.change(MemoryChange(action="remove", target="memory", old=(old,)), by)
