"""The ways in which servers tell how many tokens a model reads."""

from pathlib import Path

import pytest

from hermes.app.windows import LearnedWindows
from hermes.providers.failures import complaint, stated_window
from hermes.providers.plan import planned
from hermes.providers.settings import ProviderSettings
from hermes.providers.windows import ask_window
from hermes.testing.model import LISTED, Body, Model

LLAMA = {"data": [{"id": "double", "meta": {"n_ctx": 9_216, "n_ctx_train": 131_072}}]}
TRAINED = {"data": [{"id": "double", "meta": {"n_ctx_train": 2_048}}]}
VLLM = {"data": [{"id": "other"}, {"id": "double", "max_model_len": 7_168}]}
OLLAMA = {"parameters": "stop x\nnum_ctx 5120", "model_info": {"llama.context_length": 131_072}}
PLAIN_OLLAMA = {"model_info": {"general.name": "x", "qwen2.context_length": 32_768}}
STUDIO = {"loaded_context_length": 6_144, "max_context_length": 32_768}
PROPS = {"default_generation_settings": {"n_ctx": 3_072}}


@pytest.mark.parametrize(
    ("provider", "told", "tokens"),
    [
        ("custom", {"/v1/models": LLAMA}, 9_216),
        ("custom", {"/v1/models": TRAINED}, 2_048),
        ("vllm", {"/v1/models": VLLM}, 7_168),
        ("ollama", {"/v1/models": LISTED, "/api/show": OLLAMA}, 5_120),
        ("ollama", {"/v1/models": LISTED, "/api/show": PLAIN_OLLAMA}, 32_768),
        ("custom", {"/v1/models": LISTED, "/api/show": PLAIN_OLLAMA}, 32_768),
        ("lmstudio", {"/v1/models": LISTED, "/api/v0/models/double": STUDIO}, 6_144),
        ("custom", {"/v1/models": LISTED, "/props": PROPS}, 3_072),
        ("custom", {"/props": PROPS}, 0),
        ("custom", {}, 0),
        ("custom", {"/v1/models": {"data": "nonsense"}, "/api/show": {"model_info": [1]}}, 0),
        ("custom", {"/v1/models": {"data": [{"id": "double", "context_length": 3}]}}, 0),
    ],
)
async def test_a_server_is_asked_in_the_ways_that_it_has(
    provider: str, told: dict[str, Body], tokens: int
) -> None:
    async with Model(told=told).up() as model:
        settings = ProviderSettings(provider=provider, name="double", base_url=model.url)
        [plan] = planned(settings, {})
        assert await ask_window(plan) == tokens


async def test_a_service_is_never_asked() -> None:
    async with Model(told={"/v1/models": LLAMA}).up() as model:
        settings = ProviderSettings(
            provider="openai", name="double", base_url=model.url, api_key="sk-none"
        )
        [plan] = planned(settings, {})
        assert await ask_window(plan) == 0


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        ("This model's maximum context length is 8192 tokens. You requested 9000.", 8_192),
        ("the request exceeds the available context size (2048 tokens), try increasing it", 2_048),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("Requested tokens (5000) exceed context window of 4096", 4_096),
        ("input length and max_tokens exceed context limit: 188240", 188_240),
        ("the prompt is longer than the maximum model length of 32,768", 32_768),
        ("context length exceeded", 0),
        ("too many tokens", 0),
    ],
)
def test_an_overflow_says_its_own_number(message: str, tokens: int) -> None:
    assert stated_window(message) == tokens


def test_llama_cpp_has_the_number_in_a_field() -> None:
    error = b'"message":"too long","type":"exceed_context_size_error","n_ctx":4096'
    body = b'{"error":{"code":400,%b}}' % error
    assert complaint(body).window == 4_096


def test_what_was_learned_is_read_by_another_process_and_survives_a_broken_file(
    tmp_path: Path,
) -> None:
    one, other = LearnedWindows(tmp_path), LearnedWindows(tmp_path)
    one.learn("custom:a", 1_000)
    assert other.tokens("custom:a") == 1_000
    other.learn("custom:b", 2_000)
    assert (one.tokens("custom:a"), one.tokens("custom:b")) == (1_000, 2_000)
    (tmp_path / "context-windows.json").write_bytes(b"{")
    assert LearnedWindows(tmp_path).tokens("custom:a") == 0
