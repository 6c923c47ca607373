"""What a person has already is found: keys by name, servers by their usual ports."""

import asyncio

import pytest

from hermes.app.found_models import (
    FoundModel,
    by_suggestion,
    found_keys,
    found_servers,
    model_names,
)
from hermes.providers.catalogue import ENTRIES
from hermes.settings.shape import SERVERS, ModelSettings, Settings
from tests.doubles.shop import Shop


def settings(servers: tuple[str, ...] = (), **secrets: str) -> Settings:
    return Settings(model=ModelSettings(servers=servers), secrets=secrets)


def test_each_place_that_is_looked_at_belongs_to_a_provider() -> None:
    usual = {entry.base_url for entry in ENTRIES.values() if entry.local and entry.base_url}
    assert set(SERVERS) == usual


def test_a_key_is_found_by_its_name_and_an_empty_one_is_none() -> None:
    found = found_keys(settings(GEMINI_API_KEY="k", OPENAI_API_KEY=" ", OLLAMA_API_KEY="k"))
    assert found == (FoundModel(provider="google", title="Google", key="GEMINI_API_KEY"),)


def test_a_server_is_found_where_its_own_variable_says() -> None:
    with Shop(key="", models=[{"id": "embed-1"}, {"id": "qwen3:8b"}]).open() as shop:
        ollama = settings(SERVERS[:1], OLLAMA_HOST=f"127.0.0.1:{shop.port}")
        (found,) = asyncio.run(found_servers(ollama))
        assert (found.provider, found.base_url) == ("ollama", shop.url)
        assert asyncio.run(model_names(ollama, found)) == ("qwen3:8b",), "one that can talk"


@pytest.mark.parametrize("broken", [{"lists": False}, {"models": []}])
def test_a_port_where_something_else_serves_is_passed_over(broken: dict[str, object]) -> None:
    with Shop(key="", **broken).open() as shop:  # type: ignore[arg-type]
        assert asyncio.run(found_servers(settings((shop.url, "http://127.0.0.1:1/v1")))) == ()


def test_the_suggested_model_stands_first_and_others_keep_their_order() -> None:
    names = ["gpt-4o-mini-tts", "o9", "gpt-4o-mini", "whisper-1", "gpt-5-mini"]
    assert by_suggestion("openai", names) == ["gpt-5-mini", "gpt-4o-mini", "o9"]
    assert by_suggestion("custom", ["b", "a"]) == ["b", "a"]
