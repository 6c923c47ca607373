"""Settings from outside: a mistake stops the start with one line, an edit keeps the rest."""

import stat
from pathlib import Path

import pytest
from tests.doubles.shop import TOKEN, Shop

from journey.cli_program import Program

MISTAKES = {
    "gatewy: {busy: queue}": ("gatewy", "Did you mean gateway?"),
    "gateway: {busy: que}": ("gateway.busy", "hermes config set gateway.busy queue"),
    "gateway: {drain_timeout_s: soon}": ("gateway.drain_timeout_s", "config set"),
    "model: {api_key: 12345}": ("model.api_key", "Put it in quotes"),
    "model: {api_key: '${GONE}'}": ("model.api_key", "hermes config set GONE -"),
    "platforms: {api: {enabled: maybe}}": ("platforms.api.enabled", "true or false"),
    "model: {a\n": ("config.yaml", "line 2, column 1"),
}


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    program.home.mkdir(mode=0o700)
    return program


@pytest.mark.parametrize("config", MISTAKES)
def test_a_mistake_is_status_78_and_one_line_with_key_and_fix(hermes: Program, config: str) -> None:
    (hermes.home / "config.yaml").write_text(config)
    key, fix = MISTAKES[config]
    for words in (["config", "show"], ["sessions", "list"]):
        done = hermes.run(*words)
        assert (done.status, done.out) == (78, "")
        assert done.err.startswith("hermes: ")
        assert done.err.count("\n") == 1
        assert key in done.err
        assert fix in done.err
    assert (hermes.home / "config.yaml").read_text() == config


def test_a_chat_without_a_model_is_status_78(hermes: Program) -> None:
    done = hermes.run("chat", "-q", "hello")
    assert (done.status, done.out, done.err.count("\n")) == (78, "", 1)
    assert done.err.startswith("hermes: model.provider: ")


def test_a_wrong_variable_is_named(hermes: Program) -> None:
    hermes.environ["HERMES_AGENT__STEPS_MAX"] = "many"
    done = hermes.run("config", "get", "agent.steps_max")
    assert done.status == 78
    assert "Change or unset HERMES_AGENT__STEPS_MAX" in done.err


def test_a_home_that_cannot_be_made_is_status_78(hermes: Program) -> None:
    (hermes.folder / "file").write_text("")
    hermes.environ["HERMES_HOME"] = str(hermes.folder / "file" / "home")
    done = hermes.run("config", "set", "model.name", "x")
    assert (done.status, done.err.count("\n")) == (78, 1)
    assert "HERMES_HOME" in done.err


def test_a_setting_is_set_and_got_and_the_comments_stay(hermes: Program) -> None:
    file = hermes.home / "config.yaml"
    file.write_text("# mine\ngateway:\n  busy: queue  # as before\n")
    assert hermes.run("config", "set", "gateway.busy", "steer").status == 0
    assert hermes.run("config", "set", "gateway.resume.auto", "false").status == 0
    assert file.read_text().startswith("# mine\ngateway:\n  busy: steer  # as before\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert hermes.run("config", "get", "gateway.busy").out == "steer\n"
    assert hermes.run("config", "get", "gateway.resume", "--json").document["auto"] is False
    assert "gateway.resume.auto false" in hermes.run("config", "get", "gateway").out
    assert hermes.run("config", "set", "gateway.busy", "null").status == 0
    assert hermes.run("config", "get", "gateway.busy").out == "queue\n"


def test_a_linked_file_stays_a_link(hermes: Program) -> None:
    real = hermes.folder / "dotfiles.yaml"
    real.write_text("# elsewhere\n")
    (hermes.home / "config.yaml").symlink_to(real)
    assert hermes.run("config", "set", "model.name", "x").status == 0
    assert (hermes.home / "config.yaml").is_symlink()
    assert "name: x" in real.read_text()


def test_a_wrong_value_is_not_written(hermes: Program) -> None:
    done = hermes.run("config", "set", "gateway.busy", "sometimes")
    assert (done.status, done.err.count("\n")) == (78, 1)
    assert not (hermes.home / "config.yaml").exists()


def test_a_file_that_is_broken_is_not_replaced_by_a_set(hermes: Program) -> None:
    (hermes.home / "config.yaml").write_text("model: {a\n# precious\n")
    done = hermes.run("config", "set", "gateway.busy", "steer")
    assert done.status == 78
    assert (hermes.home / "config.yaml").read_text() == "model: {a\n# precious\n"


def test_a_wrong_setting_can_be_mended_by_a_set(hermes: Program) -> None:
    (hermes.home / "config.yaml").write_text("gateway: {busy: que}\nagent: {steps_max: 5}\n")
    assert hermes.run("config", "set", "gateway.busy", "queue").status == 0
    assert hermes.run("config", "get", "agent.steps_max").out == "5\n"


def test_secrets_go_where_only_the_owner_can_read_and_are_never_shown(hermes: Program) -> None:
    (hermes.home / "config.yaml").write_text("model: {api_key: sk-old-1, name: m}\n")
    assert hermes.run("config", "set", "OPENROUTER_API_KEY", "-", stdin="sk-router-1\n").status == 0
    assert hermes.run("config", "set", "model.api_key", "sk-model-1").status == 0
    env = hermes.home / ".env"
    assert env.read_text() == "OPENROUTER_API_KEY=sk-router-1\nHERMES_MODEL__API_KEY=sk-model-1\n"
    assert stat.S_IMODE(env.stat().st_mode) == 0o600
    assert "sk-old" not in (hermes.home / "config.yaml").read_text()
    for words in (["show"], ["show", "--json"], ["get", "model.api_key"], ["get", "model"]):
        done = hermes.run("config", *words)
        assert done.status == 0
        assert "•••" in done.out
        assert "sk-" not in done.out + done.err


def test_a_key_is_asked_for_without_an_echo(hermes: Program) -> None:
    typed = [("MY_API_KEY: ", "sk-typed\n")]
    done = hermes.on_terminal("config", "set", "MY_API_KEY", "-", typed=typed)
    assert done.status == 0
    assert "sk-typed" not in done.out
    assert (hermes.home / ".env").read_text() == "MY_API_KEY=sk-typed\n"


def test_show_tells_where_each_value_comes_from(hermes: Program) -> None:
    (hermes.home / "config.yaml").write_text(
        "gateway: {busy: steer}\nstore: {url: 'postgresql://u:pw@h/d'}\n"
    )
    (hermes.home / ".env").write_text("HERMES_AGENT__STEPS_MAX=7\n")
    hermes.environ["HERMES_AGENT__TOKENS_MAX"] = "9"
    done = hermes.run("config", "show")
    rows = {line.split()[0]: line.split()[1:] for line in done.out.splitlines()}
    assert rows["gateway.busy"] == ["steer", "config.yaml"]
    assert rows["agent.steps_max"] == ["7", ".env:", "HERMES_AGENT__STEPS_MAX"]
    assert rows["agent.tokens_max"] == ["9", "HERMES_AGENT__TOKENS_MAX"]
    assert rows["sessions.on_stop"] == ["keep", "default"]
    assert rows["store.url"][0] == "postgresql://u:•••@h/d"
    assert "could be read by others" in done.err


def test_the_path_is_told(hermes: Program) -> None:
    assert hermes.run("config", "path").out == f"{hermes.home / 'config.yaml'}\n"
    assert hermes.run("config", "path", "--json").document["home"] == str(hermes.home)


def test_an_edit_is_checked_when_the_editor_closes(hermes: Program) -> None:
    editor = hermes.folder / "editor.sh"
    editor.write_text("#!/bin/sh\necho 'gatewy: {}' >> \"$2\"\n")
    editor.chmod(0o755)
    hermes.environ["EDITOR"] = f"{editor} --wait"
    done = hermes.run("config", "edit")
    assert done.status == 78
    assert done.err.count("\n") == 1
    assert "Did you mean gateway?" in done.err
    assert (hermes.home / "config.yaml").read_text().startswith("# Settings of Hermes")
    hermes.environ["EDITOR"] = "true"
    (hermes.home / "config.yaml").write_text("model: {name: x}\n")
    assert hermes.run("config", "edit").status == 0


def test_at_a_terminal_a_mistake_is_mended_at_once_and_comments_stay(hermes: Program) -> None:
    (hermes.home / "config.yaml").write_text("# mine\ngateway:\n  busy: queue  # as ever\n")
    editor = hermes.folder / "editor.sh"
    editor.write_text(
        'grep -q steer "$1" && exec sed -i s/steerx/steer/ "$1"\nsed -i s/queue/steerx/ "$1"\n'
    )
    hermes.environ["EDITOR"] = f"/bin/sh {editor}"
    done = hermes.on_terminal("config", "edit", typed=[("Edit it again? [Y/n]", "\n")])
    assert done.status == 0, done.out
    assert "“steerx” is not one of queue, interrupt, steer (config.yaml, line 3)" in " ".join(
        done.out.split()
    )
    text = (hermes.home / "config.yaml").read_text()
    assert text == "# mine\ngateway:\n  busy: steer  # as ever\n"
    (hermes.home / "config.yaml").write_text("# mine\ngateway:\n  busy: queue\n")
    done = hermes.on_terminal("config", "edit", typed=[("Edit it again? [Y/n]", "n\n")])
    assert (done.status, "steerx" in (hermes.home / "config.yaml").read_text()) == (78, True)


def test_a_broken_setting_is_told_with_its_line_and_the_rest_counts(hermes: Program) -> None:
    text = (
        "# mine\nagent:\n  steps_max: 7\n\ngateway:\n  # how\n  busy: que\n  drain_timeout_s: 5\n"
    )
    (hermes.home / "config.yaml").write_text(text)
    done = hermes.run("config", "show")
    assert (done.status, "(config.yaml, line 7)" in done.err) == (78, True)
    told = hermes.run("doctor", "--no-calls", "--json").document["checks"]
    assert [c["fix"] for c in told if c["check"] == "settings"] == [
        "hermes config set gateway.busy queue"
    ]
    assert hermes.run("config", "set", "gateway.busy", "queue").status == 0
    assert (hermes.home / "config.yaml").read_text() == text.replace("que\n", "queue\n")
    assert hermes.run("config", "get", "agent.steps_max").out == "7\n"
    assert hermes.run("config", "get", "gateway.drain_timeout_s").out == "5\n"


def test_an_editor_that_is_missing_is_named(hermes: Program) -> None:
    hermes.environ["EDITOR"] = "/nowhere/edit"
    done = hermes.run("config", "edit")
    assert (done.status, done.err.count("\n")) == (78, 1)
    assert "/nowhere/edit" in done.err


REFUSED = {
    ("platforms.telgram.enabled", "true"): "Did you mean platforms.telegram?",
    ("platforms.fax.enabled", "true"): "Choose one of: api, telegram, webhook",
    ("tools.platforms.telgram.disabled", "[todo]"): "Did you mean tools.platforms.telegram?",
    ("platforms.api.port", "soon"): "platforms.api.port: is not a whole number",
    ("platforms.api.prot", "8642"): "Did you mean platforms.api.port?",
    ("platforms.api", "8642"): "is not a section of keys and values",
    ("platforms.telegram.allowed_users", "ada"): "platforms.telegram.allowed_users",
    ("platforms.telegram.mode", "pigeon"): "one of polling, webhook",
    ("platforms.webhook.port", "x"): "platforms.webhook.port",
    ("HERMES_API_KEY", "short"): "is easy to guess",
    ("HERMES_GATEWAY__BUSY", "sometimes"): "is not one of queue, interrupt, steer",
    ("HERMES_GATEWAY__BUZY", "queue"): "there is no setting",
    ("TELEGRAM_BOT_TOKEN", "hello"): "does not look like a token",
    ("OPENAI_API_KEY", ""): "the value is empty, so nothing was changed",
    ("model.api_key", ""): "the value is empty, so nothing was changed",
}


@pytest.mark.parametrize(("key", "value"), REFUSED, ids=lambda word: word or "empty")
def test_a_value_that_cannot_be_right_is_refused_and_nothing_is_changed(
    hermes: Program, key: str, value: str
) -> None:
    (hermes.home / "config.yaml").write_text("agent: {steps_max: 5}\n")
    done = hermes.run("config", "set", key, value)
    assert done.status in (2, 78), done
    assert REFUSED[key, value] in done.err
    assert done.err.count("\n") == 1
    assert [p.name for p in hermes.home.iterdir()] == ["config.yaml"]
    assert (hermes.home / "config.yaml").read_text() == "agent: {steps_max: 5}\n"


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("OPENAI_API_KEY", ""),
        ("OPENAI_API_KEY", "\n"),
        ("model.api_key", ""),
        ("model.api_key", "\n"),
        ("agent.steps_max", ""),
    ],
)
def test_an_empty_standard_input_changes_nothing(hermes: Program, key: str, said: str) -> None:
    done = hermes.run("config", "set", key, "-", stdin=said)
    assert (done.status, "so nothing was changed" in done.err) == (78, True), done
    assert list(hermes.home.iterdir()) == []


def test_keys_of_a_platform_are_set_one_after_the_other(hermes: Program) -> None:
    """What another key still lacks is no fault of this one."""
    for words in (
        ("platforms.telegram.enabled", "true"),
        ("platforms.telegram.allowed_users", "[12345678]"),
        ("platforms.api.port", "8700"),
        ("platforms.webhook.port", "8701"),
        ("platforms.webhook.routes.ci.prompt", "{body}"),
        ("tools.platforms.telegram.disabled", "[todo]"),
        ("platforms.telegram", "null"),
    ):
        done = hermes.run("config", "set", *words)
        assert done.status == 0, done


def test_a_name_of_no_platform_can_be_taken_away(hermes: Program) -> None:
    (hermes.home / "config.yaml").write_text("platforms: {telgram: {enabled: true}}\n")
    assert hermes.run("config", "set", "platforms.telgram", "null").status == 0
    assert "telgram" not in (hermes.home / "config.yaml").read_text()


def test_a_token_is_checked_by_a_real_call_before_it_is_kept(hermes: Program) -> None:
    with Shop().open() as shop:
        hermes.environ["HERMES_PLATFORMS__TELEGRAM__API_BASE"] = f"{shop.bots}/bot"
        wrong = TOKEN.replace("a", "b")
        for key in ("TELEGRAM_BOT_TOKEN", "platforms.telegram.token"):
            done = hermes.run("config", "set", key, "-", stdin=f"{wrong}\n")
            assert (done.status, "Telegram does not know this token" in done.err) == (78, True)
            assert wrong not in done.out + done.err
        assert not (hermes.home / ".env").exists()
        done = hermes.run("config", "set", "TELEGRAM_BOT_TOKEN", "-", stdin=f"{TOKEN}\n")
        assert (done.status, "This is @my_bot." in done.err) == (0, True), done
    assert (hermes.home / ".env").read_text() == f"TELEGRAM_BOT_TOKEN={TOKEN}\n"
    hermes.environ["HERMES_PLATFORMS__TELEGRAM__API_BASE"] = "http://127.0.0.1:1"
    done = hermes.run("config", "set", "TELEGRAM_BOT_TOKEN", "-", stdin=f"{wrong}\n")
    assert (done.status, "so the token was not checked" in done.err) == (0, True), done
