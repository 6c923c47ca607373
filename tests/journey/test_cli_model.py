"""hermes model from outside: with words and at a terminal, against a real server."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.doubles.shop import Shop

from doubles.fake_llama import installed, missing
from journey.cli_program import Program

CONFIG = "# mine\nmodel:\n  provider: openai  # for now\n  name: old\ngateway: {busy: steer}\n"


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Shop().open() as shop:
        yield shop


def custom(shop: Shop, *more: str) -> list[str]:
    return ["model", "--provider", "custom", "--base-url", shop.url, *more]


def test_all_of_it_by_words_and_the_key_is_where_only_the_owner_reads(
    hermes: Program, shop: Shop
) -> None:
    hermes.home.mkdir(mode=0o700)
    (hermes.home / "config.yaml").write_text(CONFIG)
    words = custom(shop, "--model", "large-1", "--key-stdin")
    done = hermes.run(*words, stdin="sk-right\n")
    assert done.status == 0, done
    assert "Hello from the shop." in done.out
    assert "custom:large-1 is now the model." in done.out
    assert "12 tokens read, 5 written, 0.000042 US dollars" in done.err
    config = (hermes.home / "config.yaml").read_text()
    assert config.startswith("# mine\nmodel:\n  provider: custom  # for now\n  name: large-1\n")
    assert "context_length: 200000" in config
    assert "busy: steer" in config
    env = hermes.home / ".env"
    assert env.read_text() == "CUSTOM_API_KEY=sk-right\n"
    assert stat.S_IMODE(env.stat().st_mode) == 0o600
    assert "sk-right" not in config + done.out + done.err
    assert hermes.run("chat", "-q", "hi").out == "Hello from the shop.\n"


def test_a_key_on_the_command_line_is_warned_of(hermes: Program, shop: Shop) -> None:
    done = hermes.run(*custom(shop, "--model", "small-1", "--key", "sk-right"))
    assert done.status == 0, done
    assert "--key-stdin is safer" in done.err


def test_the_only_model_of_a_server_is_taken(hermes: Program, shop: Shop) -> None:
    assert hermes.run(*custom(shop, "--key-stdin"), stdin="sk-right\n").status == 2
    del shop.models[1:]
    assert hermes.run(*custom(shop, "--key-stdin"), stdin="sk-right\n").status == 0
    assert hermes.run("config", "get", "model.name").out == "small-1\n"


@pytest.mark.parametrize("before", ["", CONFIG])
def test_a_wrong_key_changes_nothing(hermes: Program, shop: Shop, before: str) -> None:
    hermes.home.mkdir(mode=0o700)
    if before:
        (hermes.home / "config.yaml").write_text(before)
    done = hermes.run(*custom(shop, "--model", "small-1", "--key-stdin"), stdin="sk-wrong\n")
    assert (done.status, done.out) == (1, "")
    assert "Invalid API key" in done.err
    assert "Nothing was changed." in done.err
    assert "sk-wrong" not in done.err
    left = {file.name: file.read_text() for file in hermes.home.iterdir() if file.is_file()}
    assert left == ({"config.yaml": before} if before else {})


def test_a_server_that_is_not_there_changes_nothing(hermes: Program, shop: Shop) -> None:
    words = ["model", "--provider", "custom", "--base-url", "http://127.0.0.1:1/v1"]
    done = hermes.run(*words, "--model", "x")
    assert (done.status, done.out) == (1, "")
    assert "cannot connect to http://127.0.0.1:1/v1" in done.err
    assert "Nothing was changed." in done.err
    assert not (hermes.home / "config.yaml").exists()


def test_a_model_that_does_not_answer_changes_nothing_unless_untested(
    hermes: Program, shop: Shop
) -> None:
    shop.key = ""
    done = hermes.run(*custom(shop, "--model", "large-3"))
    assert done.status == 1
    assert "large-3 is not in its list. Did you mean large-2?" in done.err
    assert not (hermes.home / "config.yaml").exists()
    assert hermes.run(*custom(shop, "--model", "large-3", "--no-test")).status == 0
    assert hermes.run("config", "get", "model.name").out == "large-3\n"


def test_a_server_without_a_list_can_be_used(hermes: Program, shop: Shop) -> None:
    shop.key, shop.lists = "", False
    done = hermes.run(*custom(shop, "--model", "small-1"))
    assert done.status == 0, done
    assert "It has no list of models" in done.err


def test_a_file_that_is_broken_is_told_and_left_alone(hermes: Program, shop: Shop) -> None:
    hermes.home.mkdir(mode=0o700)
    (hermes.home / "config.yaml").write_text("model: {a\n# precious\n")
    done = hermes.run(*custom(shop, "--model", "small-1", "--key-stdin"), stdin="sk-right\n")
    assert (done.status, "line 3" in done.err or "line 2" in done.err) == (78, True)
    assert (hermes.home / "config.yaml").read_text() == "model: {a\n# precious\n"
    assert not (hermes.home / ".env").exists()


def test_at_a_terminal_it_asks(hermes: Program, shop: Shop) -> None:
    typed = [
        ("Provider: ", "custom\n"),
        ("ending in /v1: ", f"{shop.url}\n"),
        ("Its key", "sk-right\n"),
        ("Model: ", "large\n"),
        ("2 of 3 match", "2\n"),
    ]
    done = hermes.on_terminal("model", typed=typed)
    assert done.status == 0, done.out
    assert "sk-right" not in done.out
    assert "custom:large-2 is now the model." in done.out
    again = [("Provider [custom]: ", "\n"), ("ending in /v1 [", "\n"), ("Keep it?", "\n")]
    done = hermes.on_terminal("model", typed=[*again, ("Model [large-2]: ", "1\n")])
    assert done.status == 0, done.out
    assert hermes.run("config", "get", "model.name").out == "small-1\n"
    assert (hermes.home / ".env").read_text() == "CUSTOM_API_KEY=sk-right\n"


def test_without_a_terminal_it_says_which_words_are_needed(hermes: Program) -> None:
    done = hermes.run("model")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "--provider NAME" in done.err
    done = hermes.run("model", "--provider", "opnrouter")
    assert (done.status, "Did you mean openrouter?" in done.err) == (2, True)


def test_the_list_is_the_providers_own(hermes: Program, shop: Shop) -> None:
    hermes.run(*custom(shop, "--model", "small-1", "--key-stdin"), stdin="sk-right\n")
    found = hermes.run("model", "list", "--json").document
    assert [model["id"] for model in found["models"]] == ["small-1", "large-1", "large-2"]
    assert "answers now" in hermes.run("model", "list").out
    shown = hermes.run("model", "show", "--json").document
    assert (shown["provider"], shown["key"]) == ("custom", "CUSTOM_API_KEY")
    assert "sk-right" not in hermes.run("model", "show").out
    names = [each["name"] for each in hermes.run("model", "providers", "--json").document]
    assert {"openrouter", "custom", "local"} <= set(names)


def test_an_environment_that_wins_is_named(hermes: Program, shop: Shop) -> None:
    shop.key = ""
    hermes.environ["HERMES_MODEL__NAME"] = "other"
    done = hermes.run(*custom(shop, "--model", "small-1"))
    assert (done.status, "HERMES_MODEL__NAME is set" in done.err) == (0, True)


def test_the_built_in_model_is_chosen_and_answers(hermes: Program) -> None:
    hermes.packages = [installed(hermes.folder / "packages")]
    done = hermes.run("model", "--provider", "local")
    assert done.status == 0, done
    assert "built-in heard" in done.out
    assert hermes.run("config", "get", "model.provider").out == "local\n"
    assert "hello" in hermes.run("chat", "-q", "hello").out


def test_a_chat_without_a_model_takes_the_built_in_one_and_says_so(hermes: Program) -> None:
    hermes.packages = [installed(hermes.folder / "packages")]
    done = hermes.run("chat", "-q", "hello")
    assert done.status == 0, done
    assert "built-in heard" in done.out
    assert "no tools: it can only chat a little) answers. A real one: hermes model" in done.err
    assert not (hermes.home / "config.yaml").exists()


def test_a_chat_without_any_model_names_both_ways_out(hermes: Program) -> None:
    hermes.packages = [missing(hermes.folder / "packages")]
    done = hermes.run("chat", "-q", "hello")
    assert (done.status, done.out, done.err.count("\n")) == (78, "", 1)
    assert "hermes model;" in done.err
    assert "hermes model --provider local" in done.err


def test_a_provider_that_cannot_be_reached_is_named_without_stray_colons(hermes: Program) -> None:
    hermes.environ |= {
        "HERMES_MODEL__PROVIDER": "custom",
        "HERMES_MODEL__BASE_URL": "http://127.0.0.1:1/v1",
    }
    done = hermes.run("model", "list")
    assert done.status == 1
    assert done.err.startswith("hermes: custom: cannot connect to http://127.0.0.1:1/v1")


def test_a_model_that_does_not_answer_is_not_kept_for_a_chat(hermes: Program, shop: Shop) -> None:
    hermes.run(*custom(shop, "--model", "large-1", "--key-stdin"), stdin="sk-right\n")
    hermes.environ["HERMES_MODEL__API_KEY"] = "sk-wrong"
    told = hermes.run("chat", "--session", "s", "-q", "/model nosuch:x").out
    assert told.startswith("Nothing was changed: custom:nosuch:x")
    assert "custom:large-1" in hermes.run("chat", "--session", "s", "-q", "/model").out
    del hermes.environ["HERMES_MODEL__API_KEY"]
    told = hermes.run("chat", "--session", "s", "-q", "/model small-1").out
    assert told == "From the next request on: custom:small-1.\n"


def test_the_built_in_models_are_listed_with_what_they_cost(hermes: Program) -> None:
    rows = hermes.run("model", "list", "--provider", "local", "--json").document["models"]
    by_name = {row["id"]: row for row in rows}
    assert by_name["qwen2.5-coder-0.5b"]["bytes"] == 491_400_064
    assert {row["licence"] for row in rows} == {"Apache-2.0"}
    assert [name for name, row in by_name.items() if not row["tools"]] == ["smollm2-135m"]
    table = hermes.run("model", "list", "--provider", "local").out
    assert "smallest, no tools" in table


def test_a_built_in_model_that_is_not_here_is_named_with_the_fix(hermes: Program) -> None:
    hermes.packages = [installed(hermes.folder / "packages")]
    hermes.environ |= {"HERMES_MODEL__PROVIDER": "local", "HERMES_MODEL__NAME": "qwen3-8b"}
    done = hermes.run("chat", "-q", "hello")
    assert done.status == 78
    assert "Run: hermes model fetch qwen3-8b" in done.err
    hermes.environ["HERMES_MODEL__NAME"] = "qwen3-80b"
    assert "Did you mean qwen3-8b?" in hermes.run("chat", "-q", "hello").err
    own = hermes.folder / "my own.gguf"
    own.write_text("whole")
    hermes.environ["HERMES_MODEL__NAME"] = str(own)
    assert "built-in heard" in hermes.run("chat", "-q", "hello").out
