"""Settings: where they come from, which one wins, and what is said about a wrong one."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from hermes.core.errors import Misconfigured
from hermes.settings import Settings, home_of, load, prepare, survey
from hermes.settings.check import Checker
from hermes.settings.home import FOLDERS
from hermes.settings.lines import line_of
from hermes.settings.shape import NOT_SET, SERVERS, Section, is_secret
from hermes.settings.sources import repeated, scalar

DOCS = Path(__file__).parents[2] / "docs" / "CONFIGURATION.md"


def home(tmp_path: Path, config: str = "", secrets: str = "") -> Path:
    if config:
        (tmp_path / "config.yaml").write_text(config, encoding="utf-8")
    if secrets:
        (tmp_path / ".env").write_text(secrets, encoding="utf-8")
        (tmp_path / ".env").chmod(0o600)
    return tmp_path


def wrong(tmp_path: Path, config: str, environ: Mapping[str, str] | None = None) -> Misconfigured:
    with pytest.raises(Misconfigured) as caught:
        load(home(tmp_path, config), environ or {})
    return caught.value


def test_an_empty_home_has_settings_that_are_fine(tmp_path: Path) -> None:
    settings = load(tmp_path / "nowhere", {})
    assert settings.gateway.busy == "queue"
    assert settings.store.url == "sqlite"
    assert settings.agent.steps_max == 90
    assert settings.terminal.workdir is None
    assert not (tmp_path / "nowhere").exists()


def test_the_contracts_example_is_valid(tmp_path: Path) -> None:
    config = """
model:
  provider: custom
  base_url: http://127.0.0.1:9901/v1
  name: some-model
  api_key: abc
  context_length: 131072
  timeouts: {connect_s: 5, first_token_s: 60.5}
  headers: {X-Title: me}
  extra_body: {temperature: 0.5, stop: [a, b]}
  fallbacks:
    - {provider: openrouter, name: other, timeouts: {silence_s: 9}}
gateway:
  drain_timeout_s: 30
  busy: steer
  resume: {auto: false, freshness_s: 0, attempts_max: 5}
sessions: {on_stop: reset}
approvals: {mode: allow}
terminal: {backend: local, workdir: ., sandbox: auto, timeout_s: 20}
store: {url: "postgresql://me@host/db"}
platforms:
  api: {enabled: true, host: 127.0.0.1, port: 8642, key: k}
  telegram: {enabled: true, token: t, allowed_users: [1]}
agent: {steps_max: 5, tokens_max: 1000}
"""
    settings = load(home(tmp_path, config), {})
    assert settings.model.fallbacks[0].provider == "openrouter"
    assert settings.model.fallbacks[0].timeouts.silence_s == 9
    assert settings.model.timeouts.connect_s == 5
    assert settings.model.extra_body == {"temperature": 0.5, "stop": ["a", "b"]}
    assert not settings.gateway.resume.auto
    assert settings.platforms["telegram"]["allowed_users"] == [1]


def test_the_environment_wins_over_the_file_and_the_file_over_defaults(tmp_path: Path) -> None:
    where = home(tmp_path, "gateway: {busy: steer, drain_timeout_s: 5}", "HERMES_MODEL__NAME=dot")
    environ = {"HERMES_GATEWAY__BUSY": "interrupt", "HERMES_GATEWAY__RESUME__AUTO": "false"}
    settings = load(where, environ)
    assert settings.gateway.busy == "interrupt"
    assert settings.gateway.drain_timeout_s == 5
    assert not settings.gateway.resume.auto
    assert settings.gateway.resume.attempts_max == 3
    assert settings.model.name == "dot"
    assert load(where, {"HERMES_MODEL__NAME": "process"}).model.name == "process"


def test_a_text_setting_takes_the_variable_as_it_is(tmp_path: Path) -> None:
    environ = {
        "HERMES_MODEL__NAME": "007",
        "HERMES_MODEL__API_KEY": "123456",
        "HERMES_PLATFORMS__TELEGRAM__TOKEN": "12345",
        "HERMES_PLATFORMS__TELEGRAM__ALLOWED_USERS": "[1, 2]",
        "HERMES_MODEL__FALLBACKS": "[{provider: openai, name: x}]",
    }
    settings = load(tmp_path, environ)
    assert (settings.model.name, settings.model.api_key) == ("007", "123456")
    assert settings.platforms["telegram"] == {"token": "12345", "allowed_users": [1, 2]}
    assert settings.model.fallbacks[0].name == "x"


SCALARS: Mapping[str, object] = {
    "true": True, "False": False, "null": None, "": None, "12": 12, "-3": -3, "1.5": 1.5,
    "off": "off", "010": "010", "12:30": "12:30", "[a, 1]": ["a", 1], "{a: b}": {"a": "b"},
    "[broken": "[broken", "1e3": "1e3", "word": "word", "2020-01-01": "2020-01-01",
}  # fmt: skip


@pytest.mark.parametrize("text", SCALARS)
def test_a_variable_is_read_as_yaml_without_its_surprises(text: str) -> None:
    assert scalar(text) == SCALARS[text]


# What is in config.yaml → the key that is named, and what the sentence must contain.
MISTAKES = {
    "gatewy: {busy: queue}": ("gatewy", "Did you mean gateway?"),
    "gateway: {bsy: queue}": ("gateway.bsy", "Did you mean gateway.busy?"),
    "zzz: 1": ("zzz", "The sections are: model, gateway"),
    "gateway: {zzz: 1}": ("gateway.zzz", "In gateway there are: drain_timeout_s, busy, resume"),
    "gateway: {resume: {auto: maybe}}": ("gateway.resume.auto", "is not true or false"),
    "gateway: {busy: que}": ("gateway.busy", "hermes config set gateway.busy queue"),
    "gateway: {drain_timeout_s: soon}": ("gateway.drain_timeout_s", "“soon” is not a number"),
    "gateway: {drain_timeout_s: -1}": ("gateway.drain_timeout_s", "0 or more"),
    "gateway: {drain_timeout_s: .nan}": ("gateway.drain_timeout_s", "0 or more"),
    "terminal: {timeout_s: .inf}": ("terminal.timeout_s", "above 0"),
    "gateway: 5": ("gateway", "not a section"),
    "gateway: {resume: [1]}": ("gateway.resume", "a list is not a section"),
    "model: {name: 5}": ("model.name", 'Put it in quotes: name: "…"'),
    "model: {context_length: 0}": ("model.context_length", "a whole number, 1 or more"),
    "model: {context_length: 1.5}": ("model.context_length", "a whole number, 1 or more"),
    "model: {base_url: localhost}": ("model.base_url", "http://… or https://…"),
    "model: {fallbacks: openai}": ("model.fallbacks", "is not a list"),
    "model: {fallbacks: [{nme: x}]}": ("model.fallbacks[0].nme", "model.fallbacks[0].name"),
    "model: {fallbacks: [{fallbacks: []}]}": ("model.fallbacks[0].fallbacks", "no such setting"),
    "model: {headers: {a: 1}}": ("model.headers.a", "Put it in quotes"),
    "store: {url: mysql://x}": ("store.url", "sqlite or postgresql://"),
    "agent: {steps_max: true}": ("agent.steps_max", "a whole number"),
    "approvals: {mode: yes}": ("approvals.mode", "one of ask, allow, deny"),
    "platforms: {api: {enabled: 1}}": ("platforms.api.enabled", "is not true or false"),
    "platforms: {api: 1}": ("platforms.api", "not a section"),
    "model: {api_key: '${MY_KEY}'}": ("model.api_key", "the secret MY_KEY, which is not set"),
    "secrets: {a: b}": ("secrets", "no such setting"),
    "gateway:\n  busy: queue\n  busy: steer": ("gateway.busy", "twice, again in line 3"),
    "model: {}\nmodel: {}": ("model", "twice, again in line 2"),
    "model: {extra_body: &a {b: *a}}": ("model.extra_body.b", "nested too deeply"),
    "model: {extra_body: {b: &a [*a]}}": ("model.extra_body.b", "nested too deeply"),
}


@pytest.mark.parametrize("config", MISTAKES)
def test_a_mistake_names_the_key_and_the_fix(tmp_path: Path, config: str) -> None:
    key, said = MISTAKES[config]
    error = wrong(tmp_path, config)
    assert error.key == key
    assert said in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("model: {a\n", "line 2, column 1"),
        ("a:\n\t- b", "line 2, column 1"),
        ("- a", "`section:` lines"),
        ("just text", "`section:` lines"),
        ("x: *nobody", "undefined alias"),
    ],
)
def test_a_broken_file_is_named_with_the_place(tmp_path: Path, config: str, said: str) -> None:
    error = wrong(tmp_path, config)
    assert error.key.endswith("config.yaml")
    assert said in str(error)
    assert "hermes config edit" in str(error)


def test_a_wrong_variable_is_named_and_not_the_file(tmp_path: Path) -> None:
    error = wrong(tmp_path, "", {"HERMES_GATEWAY__BUSY": "que"})
    assert error.key == "HERMES_GATEWAY__BUSY (gateway.busy)"
    assert "Change or unset HERMES_GATEWAY__BUSY" in str(error)
    error = wrong(tmp_path, "", {"HERMES_GATEWY__BUSY": "queue"})
    assert "Did you mean gateway? Change or unset HERMES_GATEWY__BUSY" in str(error)
    error = wrong(tmp_path, "", {"HERMES_MODEL__FALLBACKS": "[{nme: x}]"})
    assert "Did you mean model.fallbacks[0].name? Change or unset" in str(error)


def test_variables_without_two_underscores_are_not_settings(tmp_path: Path) -> None:
    environ = {"HERMES_HOME": "x", "HERMES_LOG": "y", "HERMES_DEBUG": "1", "HERMES_PYTHON_": "z"}
    assert load(tmp_path, environ).secrets["HERMES_LOG"] == "y"


def test_one_mistake_does_not_lose_the_rest(tmp_path: Path) -> None:
    config = "gateway: {busy: que, drain_timeout_s: 7}\nmodel: {name: kept}\nzzz: 1"
    settings, problems = survey(home(tmp_path, config, "A=1\nnonsense\nB=2"), {})
    assert settings.gateway.busy == "queue"
    assert settings.gateway.drain_timeout_s == 7
    assert settings.model.name == "kept"
    assert (settings.secrets["A"], settings.secrets["B"]) == ("1", "2")
    assert [problem.key.rpartition("/")[2] for problem in problems] == [
        ".env, line 2",
        "gateway.busy",
        "zzz",
    ]


def test_a_section_without_keys_and_a_key_without_value_are_not_set(tmp_path: Path) -> None:
    settings = load(home(tmp_path, "model:\ngateway:\n  busy:\nplatforms:\n  api:\n"), {})
    assert settings == load(tmp_path / "nowhere", {})


def test_secrets_are_filled_in_where_they_are_named(tmp_path: Path) -> None:
    config = """
model: {api_key: '${MY_KEY}', headers: {X-Auth: 'Bearer ${MY_KEY}'}}
platforms:
  api: {key: '${API}'}
  telegram: {enabled: false, token: '${NOT_NEEDED}'}
"""
    settings = load(home(tmp_path, config, "MY_KEY=sk-1"), {"API": "from-process"})
    assert settings.model.api_key == "sk-1"
    assert settings.model.headers == {"X-Auth": "Bearer sk-1"}
    assert settings.platforms["api"]["key"] == "from-process"
    assert settings.platforms["telegram"]["token"] == "${NOT_NEEDED}"


def test_the_file_of_secrets_is_read_as_shells_write_it(tmp_path: Path) -> None:
    text = (
        "\ufeff# comment\n\nexport A=plain # remark\nB='single # quoted'\n"
        'C="double \\"quoted\\"\\n$x" # remark\nD=with#hash\nE=\nF = spaced \r\nA=last\n'
    )
    secrets = load(home(tmp_path, "", text), {"E": "process"}).secrets
    assert secrets["A"] == "last"
    assert secrets["B"] == "single # quoted"
    assert secrets["C"] == 'double "quoted"\n$x'
    assert secrets["D"] == "with#hash"
    assert secrets["E"] == "process"
    assert secrets["F"] == "spaced"


@pytest.mark.parametrize("line", ["no equals", "1A=x", "A='open", 'A="open', "=x", "A-B=c"])
def test_a_broken_line_of_secrets_is_named_without_its_content(tmp_path: Path, line: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        load(home(tmp_path, "", f"OK=1\n{line}\n"), {})
    assert caught.value.key.endswith(".env, line 2")
    assert line not in str(caught.value)


def test_secrets_that_others_can_read_are_closed_and_that_is_told(tmp_path: Path) -> None:
    where = home(tmp_path, "", "A=1")
    (where / ".env").chmod(0o644)
    settings = load(where, {})
    assert (where / ".env").stat().st_mode & 0o777 == 0o600
    assert "could be read by others (mode 0644)" in settings.notices[0]
    assert load(where, {}).notices == ()


def test_no_secret_shows_in_a_representation(tmp_path: Path) -> None:
    config = "model: {api_key: hide-1, fallbacks: [{api_key: hide-2}]}\nstore: {url: 'postgresql://u:hide-3@h'}"
    settings = load(home(tmp_path, config, "X=hide-4"), {})
    for value in (settings, settings.model, settings.model.fallbacks, settings.store):
        assert "hide" not in repr(value)


def test_a_wrong_secret_is_not_repeated_in_the_error(tmp_path: Path) -> None:
    assert "12345" not in str(wrong(tmp_path, "model: {api_key: 12345}"))


@pytest.mark.parametrize("path", [("model", "api_key"), ("platforms", "x", "token"), ("a", "key")])
def test_keys_and_tokens_are_secret(path: tuple[str, ...]) -> None:
    assert is_secret(path)


def test_files_that_are_none_are_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    (tmp_path / ".env").write_bytes(b"A=\xff\xfe")
    _settings, problems = survey(tmp_path, {})
    assert "is not UTF-8 text" in str(problems[0])
    assert "cannot be read" in str(problems[1])


def test_a_file_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("# x\n" * 300_000)
    assert "larger than 1 MB" in str(wrong(tmp_path, ""))


def test_what_looks_repeated_in_a_text_is_not(tmp_path: Path) -> None:
    text = "model:\n  extra_body:\n    a: |\n      name: x\n      name: y\n    name: z\n  name: m\n"
    assert list(repeated(text)) == []
    assert load(home(tmp_path, text), {}).model.name == "m"


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["model", "gateway", "resume", "busy", "name", "platforms", "x"]), inner
    ),
    max_leaves=12,
))  # fmt: skip
def test_whatever_is_in_the_tree_settings_come_out(tree: object) -> None:
    from_tree = {"model": tree, "gateway": tree, "platforms": tree, "store": tree}
    checker = Checker({}, {})
    settings = checker.settings(from_tree)
    assert isinstance(settings, Settings)
    assert all("\n" not in problem.key for problem in checker.problems)


def test_the_home_is_where_the_environment_says(tmp_path: Path) -> None:
    assert home_of({"HERMES_HOME": str(tmp_path)}) == tmp_path
    assert home_of({"HERMES_HOME": ""}) == Path.home() / ".hermes"
    assert home_of({"HERMES_HOME": "~/x"}) == Path.home() / "x"
    assert home_of({"HERMES_HOME": "x"}) == Path.cwd() / "x"


def test_the_home_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    prepare(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    assert {path.name for path in (tmp_path / "a" / "b").iterdir()} == set(FOLDERS)
    prepare(tmp_path / "a" / "b")


def test_a_home_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("x")
    with pytest.raises(Misconfigured, match=r"HERMES_HOME: .*home is not a folder"):
        prepare(tmp_path / "home")


def defaults(section: Section, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for name, value in asdict(section).items():
        here = (*path, name)
        if isinstance(value, Section):
            yield from defaults(value, here)
        elif name not in NOT_SET:
            yield ".".join(here), written(value)


def written(value: object) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, float):
        return f"`{value:g}`"
    if value == SERVERS:
        return "the usual ports of Ollama, LM Studio, llama.cpp, vLLM and others"
    if isinstance(value, tuple) and value:
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{value}`" if value not in (None, "", (), {}) else "none"


def test_each_setting_is_documented_with_its_default() -> None:
    row = re.compile(r"^\| `([a-z_.]+)` \| ([^|]+?) \|", re.M)
    table = DOCS.read_text("utf-8").partition("\n## Settings\n")[2].partition("\n## ")[0]
    assert dict(row.findall(table)) == dict(defaults(Settings()))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("gateway",), 2),
        (("gateway", "resume", "auto"), 5),
        (("gateway", "busy"), 6),
        (("agent", "steps_max"), 7),
        (("model", "fallbacks[1]", "name"), 9),
        (("zzz",), None),
    ],
)
def test_a_setting_is_found_in_its_line(path: tuple[str, ...], line: int | None) -> None:
    text = (
        "# mine\ngateway:\n  # why\n  resume:\n    auto: 1\n  busy: que\nagent: {steps_max: many}\n"
        "model:\n  fallbacks:\n    - provider: a\n      name: b\n"
    )
    assert line_of(text, path) == line
