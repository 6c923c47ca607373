"""hermes setup and hermes tools from outside: asked, scripted, and again."""

from collections.abc import Iterator
from pathlib import Path
from socket import create_server

import pytest
from tests.doubles.shop import TOKEN, Shop

from doubles.fake_llama import installed
from journey.cli_program import Program, scripted


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    return Program(tmp_path, {"NO_COLOR": "1", "PATH": "/nowhere"})


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Shop().open() as shop:
        yield shop


def free_port() -> int:
    with create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_all_of_it_by_words(hermes: Program, shop: Shop) -> None:
    port = free_port()
    hermes.home.mkdir(mode=0o700)
    hermes.environ["HERMES_PLATFORMS__TELEGRAM__API_BASE"] = shop.bots
    words = ["setup", "--yes", "--provider", "custom", "--base-url", shop.url, "--model", "small-1"]
    words += ["--key-stdin", "--workdir", str(hermes.folder), "--sandbox", "none"]
    words += ["--api", "on", "--api-port", str(port), "--telegram", "on", "--telegram-token-stdin"]
    words += ["--telegram-allow", "12345678,9", "--service", "none"]
    done = hermes.run(*words, stdin=f"sk-right\n{TOKEN}\n")
    assert done.status == 0, done
    assert "custom:small-1" in done.out
    config = (hermes.home / "config.yaml").read_text()
    assert f"port: {port}" in config
    assert "allowed_users: [12345678, 9]" in config or "- 12345678" in config
    assert "sandbox: none" in config
    env = (hermes.home / ".env").read_text()
    assert "CUSTOM_API_KEY=sk-right" in env
    assert f"TELEGRAM_BOT_TOKEN={TOKEN}" in env
    assert "HERMES_API_KEY=" in env
    again = hermes.run("setup", "--yes")
    assert again.status == 0, again
    assert "custom:small-1 stays." in again.err
    assert (hermes.home / "config.yaml").read_text() == config


def test_yes_alone_takes_the_built_in_model_and_nothing_else(hermes: Program) -> None:
    hermes.packages = [installed(hermes.folder / "packages")]
    done = hermes.run("setup", "--yes")
    assert done.status == 0, done
    assert hermes.run("config", "get", "model.provider").out == "local\n"
    assert "platforms" not in (hermes.home / "config.yaml").read_text()
    assert not (hermes.home / ".env").exists()


def test_a_token_that_is_not_known_is_refused(hermes: Program, shop: Shop) -> None:
    hermes.environ["HERMES_PLATFORMS__TELEGRAM__API_BASE"] = shop.bots
    words = ["setup", "--yes", "--skip-model", "--telegram-token-stdin"]
    wrong = TOKEN.replace("a", "b")
    done = hermes.run(*words, stdin=f"{wrong}\n")
    assert (done.status, "does not know this token" in done.err) == (78, True)
    assert wrong not in done.err
    assert not hermes.home.exists(), "nothing is kept"
    done = hermes.run("setup", "--yes", "--skip-model", "--telegram", "on")
    assert (done.status, "--telegram-token-stdin" in done.err) == (1, True)


def test_it_asks_at_a_terminal_and_what_is_set_is_the_default(hermes: Program, shop: Shop) -> None:
    shop.key = ""
    model = [
        ("Provider: ", "custom\n"),
        ("ending in /v1: ", f"{shop.url}\n"),
        ("Its key", "\n"),
        ("3  large-2", "1\n"),
    ]
    rest = [
        ("Folder for commands", "\n"),
        ("Run commands in a sandbox?", "\n"),
        ("OpenAI-compatible HTTP API?", "n\n"),
        ("on Telegram?", "n\n"),
    ]
    done = hermes.on_terminal("setup", typed=[*model, *rest])
    assert done.status == 0, done.out
    for step in ("1/4", "2/4", "3/4", "4/4"):
        assert step in done.out
    config = (hermes.home / "config.yaml").read_text()
    done = hermes.on_terminal("setup", typed=[("Keep it? [Y/n]", "\n"), *rest])
    assert done.status == 0, done.out
    assert (hermes.home / "config.yaml").read_text() == config


def test_without_a_terminal_it_needs_yes(hermes: Program) -> None:
    done = hermes.run("setup")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "--yes" in done.err


def test_tools_are_listed_with_what_they_cost_and_switched_by_platform(tmp_path: Path) -> None:
    hermes = scripted(tmp_path)
    hermes.home.mkdir(mode=0o700)
    (hermes.home / "config.yaml").write_text("# mine\nagent: {steps_max: 5}  # few\n")
    before = hermes.run("tools", "--json").document
    sets = {each["name"]: each for each in before["toolsets"]}
    assert {"terminal", "files", "memory", "skills", "recall", "sending", "todo"} <= set(sets)
    assert all(each["tokens"] > 0 and each["enabled"] for each in sets.values())
    assert before["tokens"] == sum(each["tokens"] for each in sets.values())
    done = hermes.run("tools", "disable", "terminal", "todo", "--platform", "telegram")
    assert done.status == 0, done
    there = hermes.run("tools", "list", "--platform", "telegram", "--json").document
    off = [each["name"] for each in there["toolsets"] if not each["enabled"]]
    assert off == ["terminal", "todo"]
    saved = sets["terminal"]["tokens"] + sets["todo"]["tokens"]
    assert there["tokens"] == before["tokens"] - saved
    assert hermes.run("tools", "--json").document == before
    config = (hermes.home / "config.yaml").read_text()
    assert config.startswith("# mine\nagent: {steps_max: 5}  # few\n")
    assert hermes.run("tools", "disable", "patch").status == 0
    assert "patch (off)" in hermes.run("tools").out
    done = hermes.run("tools", "enable", "patch", "--platform", "telegram")
    assert "still off everywhere. Run: hermes tools enable patch" in done.err
    assert hermes.run("tools", "enable", "patch").status == 0
    assert hermes.run("tools", "enable", "terminal", "todo", "--platform", "telegram").status == 0
    assert hermes.run("tools", "--platform", "telegram", "--json").document["tokens"] > 0
    done = hermes.run("tools", "disable", "termnal")
    assert (done.status, "Did you mean terminal?" in done.err) == (2, True)
