"""`hermes chat` with settings of its own, and a model in the test's hands."""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes.testing.model import Asked, Model
from tests.process.gateway import Home

CHAT_S_MAX = 120.0


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str


@dataclass
class Chat(Home):
    """A home in which questions are asked, one process each."""

    async def ask(self, text: str, *words: str) -> Done:
        self.configure()
        return await self.run("chat", *words, "-q", text)

    async def run(self, *words: str) -> Done:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "hermes", *words),
            env=self.environ,
            cwd=self.folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            stdin=asyncio.subprocess.DEVNULL,
        )
        out, err = await asyncio.wait_for(child.communicate(), CHAT_S_MAX)
        assert child.returncode is not None
        return Done(child.returncode, out.decode(), err.decode())


def chat(folder: Path, double: Model, /, **sections: Any) -> Chat:
    """A home whose model is that one; `sections` are more of its config.yaml."""
    section = {"provider": "custom", "base_url": double.url, "name": "double", "api_key": "none"}
    section |= sections.pop("model", {})
    return Chat(folder, {"model": section, **sections})


async def request(folder: Path, double: Model, /, text: str = "hello", **sections: Any) -> Asked:
    """What the model heard of a question that was asked with these settings."""
    done = await chat(folder, double, **sections).ask(text)
    assert done.status == 0, done.err
    return double.asked[-1]
