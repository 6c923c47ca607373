"""Settings and environment to a provider, or one line that says what to set."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.core.errors import Misconfigured, ProviderDenied, ProviderFailed, ProviderGarbled
from hermes.providers.build import ModelListing, build, list_models
from hermes.providers.catalogue import ENTRIES, CatalogueEntry, canonical, chosen, closest
from hermes.providers.plan import FALLBACKS_MAX
from hermes.providers.settings import ProviderSettings
from tests.unit.providers.asking import settings
from tests.unit.providers.recordings import ANTHROPIC, HELLO, KEY, OPENAI
from tests.unit.providers.servers import Server, chunked, plain

ROOT = Path(__file__).parents[3]
ASKED_FOR = (
    "OpenRouter, OpenAI, Anthropic, Nous Portal, NVIDIA NIM, z.ai, Kimi, MiniMax, Xiaomi MiMo, "
    "Hugging Face, Groq, Together, DeepSeek, Mistral, Google, xAI, Ollama, LM Studio, vLLM, custom"
)
OURS = ("scripted", "local")  # no server of somebody else
NETWORKED = {name: entry for name, entry in ENTRIES.items() if entry.protocol not in OURS}
BODIES = {"openai": OPENAI, "anthropic": ANTHROPIC}


def told(settings: ProviderSettings, env: dict[str, str] | None = None) -> str:
    with pytest.raises(Misconfigured) as error:
        build(settings, env or {})
    assert "\n" not in str(error.value)
    return str(error.value)


def test_every_provider_that_was_asked_for_is_found_by_its_own_name() -> None:
    for name in ASKED_FOR.split(", "):
        assert canonical(name) in ENTRIES, name


def test_names_are_unique_and_forgiving() -> None:
    names = [*ENTRIES, *(alias for entry in ENTRIES.values() for alias in entry.aliases)]
    assert len(names) == len(set(names))
    assert canonical(" OpenRouter ") == canonical("OPENROUTER") == "openrouter"
    assert canonical("lm_studio") == canonical("LM Studio") == "lmstudio"
    assert canonical("nobody") is None
    assert closest("opnrouter")[0] == "openrouter"


@pytest.mark.parametrize("name", NETWORKED)
async def test_each_provider_of_the_catalogue_asks_with_its_key_and_protocol(name: str) -> None:
    entry = NETWORKED[name]
    async with Server([[chunked(BODIES[entry.protocol])]]) as server:
        chain = build(
            ProviderSettings(provider=name, base_url=server.url, name="m"), {entry.keys[0]: KEY}
        )
        answer = await chain.ask(HELLO, lambda _: None)
        await chain.aclose()
    assert (chain.name, answer.model) == (f"{name}:m", f"{name}:m")
    (taken,) = server.taken
    if entry.protocol == "anthropic":
        assert taken.line == "POST /v1/messages HTTP/1.1"
        assert taken.headers["x-api-key"] == KEY
        assert taken.headers["anthropic-version"] == "2023-06-01"
    else:
        assert taken.line == "POST /v1/chat/completions HTTP/1.1"
        assert taken.headers["authorization"] == f"bearer {KEY}"


@pytest.mark.parametrize(("name", "entry"), NETWORKED.items())
def test_each_provider_has_an_address_a_key_and_a_place_to_get_one(
    name: str, entry: CatalogueEntry
) -> None:
    assert entry.keys
    if not name.startswith("custom"):
        assert entry.base_url.startswith("http://127.0.0.1:" if entry.local else "https://")
        assert not entry.base_url.endswith("/")
        assert entry.docs.startswith("https://")


@pytest.mark.parametrize("name", [name for name, entry in NETWORKED.items() if not entry.local])
def test_a_missing_key_names_its_variable_and_where_to_get_it(name: str) -> None:
    text = told(ProviderSettings(provider=name, name="m"))
    assert text.startswith("model.api_key: ")
    assert f"set {ENTRIES[name].keys[0]} in .env" in text
    assert ENTRIES[name].docs in text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (ProviderSettings(), "model.provider: no model is set up"),
        (ProviderSettings(provider="opnrouter"), "Did you mean openrouter?"),
        (ProviderSettings(provider="zzzz"), "Known ones: openrouter, openai"),
        (ProviderSettings(provider="custom", name="m"), "model.base_url: "),
        (ProviderSettings(provider="ollama"), "model.name: no model is chosen"),
        (ProviderSettings(provider="custom", name="m", base_url="ftp://x"), "model.base_url: "),
        (ProviderSettings(provider="custom", name="m", base_url="no url"), "model.base_url: "),
        (ProviderSettings(provider="custom", name="m", base_url="http://[::"), "model.base_url: "),
        (ProviderSettings(provider="ollama", name="m", api_key="ä b"), "model.api_key: the key"),
        (ProviderSettings(provider="ollama", name="m", headers={"a": "x\ny"}), "model.headers: "),
    ],
)
def test_what_is_wrong_is_said_with_its_key_and_the_fix(
    given: ProviderSettings, words: str
) -> None:
    assert words in told(given)


def test_a_key_in_the_address_is_refused_and_not_repeated() -> None:
    url = f"https://user:{KEY}@x.example/v1"
    text = told(ProviderSettings(provider="custom", name="m", base_url=url))
    assert KEY not in text


def test_a_mistake_in_a_fallback_is_found_where_it_is() -> None:
    good = ProviderSettings(provider="ollama", name="m")
    bad = ProviderSettings(provider="groq", name="m")
    text = told(ProviderSettings(provider="ollama", name="m", fallback=(good, bad)))
    assert text.startswith("model.fallbacks[1].api_key: ")
    many = ProviderSettings(provider="ollama", name="m", fallback=(good,) * (FALLBACKS_MAX + 1))
    assert told(many).startswith("model.fallbacks: ")


@pytest.mark.parametrize(
    ("provider", "ending", "path"),
    [
        ("custom", "", "/v1/chat/completions"),
        ("custom", "/", "/v1/chat/completions"),
        ("custom", "/chat/completions", "/v1/chat/completions"),
        ("custom-anthropic", "/messages", "/v1/messages"),
        ("custom-anthropic", "/", "/v1/messages"),
    ],
)
async def test_an_address_may_end_where_people_end_it(
    provider: str, ending: str, path: str
) -> None:
    async with Server([[plain({}, status=404)]]) as server:
        base = server.url + ending
        if provider == "custom-anthropic" and ending == "/":
            base = server.url.removesuffix("/v1") + ending
        chain = build(ProviderSettings(provider=provider, base_url=base, name="m"), {})
        with pytest.raises(ProviderFailed):
            await chain.ask(HELLO, lambda _: None)
        await chain.aclose()
    assert server.taken[0].line == f"POST {path} HTTP/1.1"


async def test_headers_and_body_of_a_person_are_sent() -> None:
    async with Server([[chunked(OPENAI)]]) as server:
        given = settings(server, headers={"X-Team": "blue"}, body={"temperature": 0.2})
        chain = build(given, {})
        await chain.ask(HELLO, lambda _: None)
        await chain.aclose()
    assert server.taken[0].headers["x-team"] == "blue"
    assert server.taken[0].json()["temperature"] == 0.2


def test_the_key_does_not_show_itself_in_settings() -> None:
    given = ProviderSettings(provider="ollama", name="m", api_key=KEY)
    assert KEY not in f"{given!r} {given} {build(given, {})!r}"


def test_a_choice_names_a_model_or_a_provider_and_a_model() -> None:
    now = ProviderSettings(provider="ollama", name="old", base_url="http://x/v1", api_key="k")
    assert chosen("qwen3:8b", now).name == "qwen3:8b"
    assert chosen("qwen3:8b", now).base_url == "http://x/v1"
    assert chosen("ollama:qwen3:8b", now).name == "qwen3:8b"
    other = chosen("groq:llama", now)
    assert (other.provider, other.name, other.base_url, other.api_key) == ("groq", "llama", "", "")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (
            {"data": [{"id": "a", "context_length": 9}, {"id": "models/b", "max_model_len": 4}]},
            (ModelListing(id="a", context_length=9), ModelListing(id="b", context_length=4)),
        ),
        ([{"id": "c", "type": "chat"}], (ModelListing(id="c"),)),
    ],
)
async def test_models_are_listed(body: object, found: tuple[ModelListing, ...]) -> None:
    async with Server([[plain(body)]]) as server:
        assert await list_models(settings(server, name=""), {}) == found
    assert server.taken[0].line == "GET /v1/models HTTP/1.1"


async def test_a_list_of_models_that_is_none_is_an_error() -> None:
    async with Server([[plain({"data": "x"})], [plain({}, status=401)]]) as server:
        with pytest.raises(ProviderGarbled):
            await list_models(settings(server), {})
        with pytest.raises(ProviderDenied):
            await list_models(settings(server), {})
    assert await list_models(ProviderSettings(provider="scripted"), {}) == (
        ModelListing(id="demo"),
    )


def test_the_catalogue_and_the_script_need_no_http_and_the_rest_little_else() -> None:
    code = (
        "import sys; import {0}; "
        "print(*sorted({{name.split('.')[0] for name in sys.modules}} "
        "- set(sys.stdlib_module_names)))"
    )

    def loaded(module: str) -> set[str]:
        command = [sys.executable, "-c", code.format(module)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT / "src")
        return {name for name in done.stdout.split() if not name.startswith(("_", "site"))}

    light = loaded("hermes.providers.catalogue, hermes.providers.scripted, hermes.providers.chain")
    assert "httptools" not in light
    heavy = loaded("hermes.providers.build") - light
    assert heavy <= {"httptools", "cython_runtime", "truststore"}


def test_each_provider_is_in_the_documentation() -> None:
    text = (ROOT / "docs" / "PROVIDERS.md").read_text(encoding="utf-8")
    for name, entry in ENTRIES.items():
        assert f"`{name}`" in text
        for key in entry.keys:
            assert f"`{key}`" in text, key
        if entry.base_url:
            assert entry.base_url in text


def test_the_script_of_the_documentation_is_valid(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "PROVIDERS.md").read_text(encoding="utf-8")
    example = (
        text.split("## The scripted provider", 1)[1].split("```json\n", 1)[1].split("```", 1)[0]
    )
    path = tmp_path / "script.json"
    path.write_text(example, encoding="utf-8")
    assert json.loads(example)
    assert build(ProviderSettings(provider="scripted", name=str(path)), {}).name
