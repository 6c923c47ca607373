"""hermes prompt show, on real files and a real store."""

import asyncio
import hashlib
import json
from pathlib import Path

import pytest

from hermes.agent.prompt import Overhead, Sources, compose, parts_of
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.prompt.show import COMMAND, run
from hermes.context.files import context_files
from hermes.core.budget import tokens_of
from hermes.core.errors import Rejected
from hermes.core.events import PromptMade
from hermes.core.ids import session_key
from hermes.core.messages import Address
from hermes.core.ports import ToolSpec
from hermes.settings import Settings
from hermes.stores.sqlite import open_sqlite
from hermes.terminals.local_files import LocalFiles
from tests.unit.cli.stage import Stage, stage
from tests.unit.commands.chats import NODE, Town

TOOLS = (
    ToolSpec(name="look", description="Look at it. " * 10, parameters='{"type":"object"}'),
    ToolSpec(name="wait", description="Wait.", parameters='{"type":"object"}'),
)
KEPT = "You are Ada.\n\n# work\nWork.\n"


async def composed(home: Path, _settings: Settings, folder: Path, platform: str) -> Overhead:
    """As the composition root does it, with fewer sources."""
    soul = (home / "SOUL.md").read_text(encoding="utf-8")
    files = context_files(LocalFiles(), folder, home=home.parent)
    sources = Sources(soul=soul, context=files.text, hints=f"Shown on {platform}.")
    return Overhead(parts=parts_of(sources), tools=TOOLS, labels=files.labels)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "workspace").mkdir(parents=True)
    (folder / "SOUL.md").write_text("You are Ada.\n", encoding="utf-8")
    return folder


def show(home: Path, console: Stage, *words: str) -> int:
    context = CliContext(home=home, environ={}, console=console, clock=lambda: 1.0)
    return run(COMMAND.parse(list(words)), context, composed)


def test_each_part_and_each_tool_is_shown_with_its_tokens(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    console = stage()
    assert show(home, console) == DONE
    out = console.stdout.getvalue()
    assert f"identity ({tokens_of('You are Ada.')} tokens)\nYou are Ada.\n" in out
    assert "Use tabs." in out
    assert "platform" in out
    assert [line.split()[0] for line in out.splitlines() if line.startswith(("look", "wait"))]
    assert "\x1b" not in out
    assert "▇" not in out
    assert "untrusted" in console.stderr.getvalue()


def test_a_terminal_gets_bars(home: Path) -> None:
    console = stage(tty=True)
    assert show(home, console, "--platform", "telegram") == DONE
    assert "▇" in console.stdout.getvalue()
    dull = stage(tty=True, NO_COLOR="1")
    assert show(home, dull, "--platform", "telegram") == DONE
    assert "\x1b[1m" not in dull.stdout.getvalue()


def test_the_document_adds_up(home: Path) -> None:
    (home / "config.yaml").write_text("model: {context_length: 10000}", encoding="utf-8")
    (home / "workspace" / "AGENTS.md").write_text("Use tabs.", encoding="utf-8")
    console = stage()
    assert show(home, console, "--platform", "telegram", "--json") == DONE
    shown = json.loads(console.stdout.getvalue())
    assert [part["name"] for part in shown["parts"]] == ["identity", "work", "context", "platform"]
    assert shown["parts"][-1]["text"] == "Shown on telegram."
    assert all(part["tokens"] == tokens_of(part["text"]) for part in shown["parts"])
    assert [tool["name"] for tool in shown["tools"]] == ["look", "wait"]
    tokens = shown["tokens"]
    assert tokens["tools"] == sum(tool["tokens"] for tool in shown["tools"])
    assert tokens["total"] == tokens["system"] + tokens["tools"]
    assert (shown["window"], shown["share"]) == (10_000, round(tokens["total"] / 10_000, 4))
    assert shown["labels"] == ["untrusted"]


def test_without_a_known_window_there_is_no_share(home: Path) -> None:
    console = stage()
    show(home, console, "--json", "--platform", "api")
    shown = json.loads(console.stdout.getvalue())
    assert (shown["window"], shown["share"]) == (None, None)


async def begun(home: Path, *, with_prompt: bool) -> None:
    town = Town()
    town.store = await open_sqlite(home / "hermes.db", clock=lambda: town.now)
    await town.store.nodes.join(NODE)
    key = session_key("local", "dm", "main")
    chat = await town.chat(key, Address(platform="local", chat="main"))
    await chat.say("hello")
    if with_prompt:
        await chat.record(PromptMade(await town.store.texts.keep(KEPT), 1.0))
    await town.store.upkeep.close()


def test_a_session_shows_the_very_bytes_that_were_kept(home: Path) -> None:
    asyncio.run(begun(home, with_prompt=True))
    console = stage()
    assert show(home, console, "--session", "main", "--json") == DONE
    shown = json.loads(console.stdout.getvalue())
    assert shown["text"] == KEPT
    assert shown["digest"] == hashlib.sha256(KEPT.encode()).hexdigest()
    assert shown["tokens"] == tokens_of(KEPT)
    plain = stage()
    assert show(home, plain, "--session", "agent:main:local:dm:main") == DONE
    assert plain.stdout.getvalue().partition("\n")[2] == KEPT
    assert compose(parts_of(Sources(soul="You are Ada."))) != KEPT


def test_a_session_without_a_prompt_says_so(home: Path) -> None:
    with pytest.raises(Rejected, match="nothing is stored here yet"):
        show(home, stage(), "--session", "main")
    asyncio.run(begun(home, with_prompt=False))
    with pytest.raises(Rejected, match="has no prompt yet"):
        show(home, stage(), "--session", "main")
    with pytest.raises(Rejected, match="no session"):
        show(home, stage(), "--session", "other")
