"""Play a task: a new home, a new folder, the engine of a chat, and any OpenAI-compatible model."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes.app.application import App, opened
from hermes.app.engine import new_id
from hermes.core.events import CallEnded
from hermes.core.ids import MessageId, SessionKey, session_key
from hermes.core.messages import Address, Inbound, Person, Reply
from hermes.settings import load, prepare
from tests.tasks.task import Outcome, Task, Turn

TASK_S_MAX = 900.0
ALLOWED = {"approvals": {"mode": "allow"}}  # a task has no person who could answer


@dataclass(frozen=True)
class Played:
    """One task, once: whether it was done, and what was said."""

    task: str
    done: bool
    replies: tuple[str, ...]
    calls: int
    seconds: float
    fault: str = ""


async def play(
    task: Task, model: Mapping[str, Any], folder: Path, *, limit_s: float = TASK_S_MAX
) -> Played:
    """Return how it went. `model` is the section of config.yaml."""
    began = time.monotonic()
    outcome = _prepared(task, model, folder)
    fault = ""
    try:
        async with asyncio.timeout(limit_s):
            await _talk(task, outcome)
    except TimeoutError:
        fault = f"not done after {limit_s:.0f} s"
    done = not fault and _checked(task, outcome)
    return Played(
        task=task.name,
        done=done,
        replies=tuple(outcome.replies),
        calls=outcome.calls,
        seconds=time.monotonic() - began,
        fault=fault,
    )


def _checked(task: Task, outcome: Outcome) -> bool:
    try:
        return task.check(outcome)
    except (ValueError, KeyError, TypeError, OSError):
        return False  # what should be there cannot even be read


def _prepared(task: Task, model: Mapping[str, Any], folder: Path) -> Outcome:
    work, home = folder / "work", folder / "home"
    work.mkdir(parents=True)
    prepare(home)
    (home / "config.yaml").write_text(json.dumps({"model": model, **ALLOWED}), encoding="utf-8")
    for name, text in task.files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text, encoding="utf-8")
    for name, text in task.skills.items():
        (home / "skills" / name).mkdir(parents=True)
        (home / "skills" / name / "SKILL.md").write_text(text, encoding="utf-8")
    return Outcome(work=work, home=home)


async def _talk(task: Task, outcome: Outcome) -> None:
    shown: list[str] = []

    def show(reply: Reply, _chunk: str) -> None:
        shown.append(reply.text)

    settings = load(outcome.home, {"HOME": str(outcome.home.parent)})
    engine = opened(
        outcome.home, settings, show=show, emit=lambda _signal: None, workdir=outcome.work
    )
    async with engine as app, app.gateway.joined():
        key = _new_key()
        for turn in task.turns:
            key = _new_key() if turn.fresh else key
            shown.clear()
            await _say(app, key, turn, outcome)
            outcome.replies.append("\n".join(shown))


async def _say(app: App, key: SessionKey, turn: Turn, outcome: Outcome) -> None:
    inbound = Inbound(
        id=MessageId(new_id()),
        account="local",
        session=key,
        sender=Person(id="owner"),
        address=Address(platform="local", chat=key.rpartition(":")[2]),
        text=turn.text,
        at=time.time(),
        workdir=str(outcome.work),
    )
    accepted = await app.gateway.accept(inbound)
    await app.gateway.settle(key)
    await app.gateway.deliver(key)
    for event in await app.store.journal.since(key, accepted.position):
        if isinstance(event, CallEnded):
            outcome.calls += 1
            outcome.facts.update(event.facts)


def _new_key() -> SessionKey:
    return session_key("local", "dm", f"task-{new_id()[-8:]}")
