"""The known model servers, as data: URL, key, and how each differs from its protocol."""

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.providers.pieces import Quirks
from hermes.providers.settings import ProviderSettings
from hermes.text.similar import likely

_BLANK_SIGNATURE: Final = '{"google":{"thought_signature":"skip_thought_signature_validator"}}'


class CatalogueEntry(Struct, frozen=True, kw_only=True):
    """One provider. `local` means that it needs no key; `for_models` is matched by prefix.
    `suggested` are beginnings of models' names, best first, for a person who has named none."""

    title: str
    protocol: Literal["openai", "anthropic", "scripted", "local"] = "openai"
    base_url: str = ""
    keys: tuple[str, ...] = ()
    local: bool = False
    docs: str = ""
    aliases: tuple[str, ...] = ()
    quirks: Quirks = Quirks()
    for_models: tuple[tuple[str, Quirks], ...] = ()
    suggested: tuple[str, ...] = ()

    def quirks_of(self, model: str) -> Quirks:
        for prefix, quirks in self.for_models:
            if model.startswith(prefix):
                return quirks
        return self.quirks


_ROUTER: Final = Quirks(
    reasoning_field="reasoning_details",
    reasoning_when="always",
    headers={"X-Title": "Hermes"},
)
# These models read their own reasoning again while they call tools, and refuse a call without it.
_READS_ITS_REASONING: Final = Quirks(reasoning_field="reasoning_content", reasoning_blank=True)
_CLAUDE: Final = Quirks(cache_marks=True)
_GEMINI: Final = Quirks(call_extras=True, call_extra_blank=_BLANK_SIGNATURE)

ENTRIES: Final[Mapping[str, CatalogueEntry]] = {
    "openrouter": CatalogueEntry(
        title="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        keys=("OPENROUTER_API_KEY",),
        suggested=("openrouter/auto",),
        docs="https://openrouter.ai/keys",
        quirks=_ROUTER,
        for_models=(
            ("anthropic/", replace(_ROUTER, cache_marks=True)),
            ("mistralai/", replace(_ROUTER, call_ids="nine")),
        ),
    ),
    "openai": CatalogueEntry(
        title="OpenAI",
        base_url="https://api.openai.com/v1",
        keys=("OPENAI_API_KEY",),
        suggested=("gpt-5-mini", "gpt-4.1-mini", "gpt-4o-mini", "gpt-"),
        docs="https://platform.openai.com/api-keys",
        quirks=Quirks(output_key="max_completion_tokens"),
    ),
    "anthropic": CatalogueEntry(
        title="Anthropic",
        protocol="anthropic",
        base_url="https://api.anthropic.com/v1",
        keys=("ANTHROPIC_API_KEY",),
        suggested=("claude-sonnet-", "claude-haiku-", "claude-"),
        docs="https://console.anthropic.com/settings/keys",
        aliases=("claude",),
        quirks=_CLAUDE,
    ),
    "nous": CatalogueEntry(
        title="Nous Portal",
        base_url="https://inference-api.nousresearch.com/v1",
        keys=("NOUS_API_KEY", "NOUSRESEARCH_API_KEY"),
        suggested=("Hermes-4", "nousresearch/hermes-4"),
        docs="https://portal.nousresearch.com",
        aliases=("nous-portal", "nousresearch"),
        quirks=replace(_ROUTER, headers={}),
        for_models=(("anthropic/", replace(_ROUTER, headers={}, cache_marks=True)),),
    ),
    "nvidia": CatalogueEntry(
        title="NVIDIA NIM",
        base_url="https://integrate.api.nvidia.com/v1",
        keys=("NVIDIA_API_KEY", "NIM_API_KEY"),
        suggested=("openai/gpt-oss-120b", "meta/llama-3.3"),
        docs="https://build.nvidia.com",
        aliases=("nim", "nvidia-nim"),
    ),
    "zai": CatalogueEntry(
        title="z.ai",
        base_url="https://api.z.ai/api/paas/v4",
        keys=("ZAI_API_KEY", "GLM_API_KEY", "Z_AI_API_KEY"),
        suggested=("glm-",),
        docs="https://z.ai/manage-apikey/apikey-list",
        aliases=("z.ai", "z-ai", "glm", "zhipu"),
        quirks=Quirks(reasoning_field="reasoning_content"),
    ),
    "kimi": CatalogueEntry(
        title="Kimi (Moonshot AI)",
        base_url="https://api.moonshot.ai/v1",
        keys=("KIMI_API_KEY", "MOONSHOT_API_KEY"),
        suggested=("kimi-latest", "kimi-k2", "kimi-"),
        docs="https://platform.kimi.ai/console/api-keys",
        aliases=("moonshot", "moonshotai"),
        quirks=_READS_ITS_REASONING,
    ),
    "minimax": CatalogueEntry(
        title="MiniMax",
        protocol="anthropic",
        base_url="https://api.minimax.io/anthropic/v1",
        keys=("MINIMAX_API_KEY",),
        suggested=("MiniMax-M",),
        docs="https://platform.minimax.io",
        quirks=_CLAUDE,
    ),
    "xiaomi": CatalogueEntry(
        title="Xiaomi MiMo",
        base_url="https://api.xiaomimimo.com/v1",
        keys=("XIAOMI_API_KEY", "MIMO_API_KEY"),
        suggested=("mimo-",),
        docs="https://platform.xiaomimimo.com",
        aliases=("mimo", "xiaomi-mimo"),
        quirks=replace(_READS_ITS_REASONING, output_key="max_completion_tokens"),
    ),
    "huggingface": CatalogueEntry(
        title="Hugging Face",
        base_url="https://router.huggingface.co/v1",
        keys=("HF_TOKEN", "HUGGINGFACE_API_KEY"),
        suggested=("openai/gpt-oss-120b", "Qwen/Qwen3"),
        docs="https://huggingface.co/settings/tokens",
        aliases=("hf", "hugging-face"),
    ),
    "groq": CatalogueEntry(
        title="Groq",
        base_url="https://api.groq.com/openai/v1",
        keys=("GROQ_API_KEY",),
        suggested=("openai/gpt-oss-120b", "llama-3.3"),
        docs="https://console.groq.com/keys",
        quirks=Quirks(output_key="max_completion_tokens"),
    ),
    "together": CatalogueEntry(
        title="Together",
        base_url="https://api.together.xyz/v1",
        keys=("TOGETHER_API_KEY",),
        suggested=("openai/gpt-oss-120b", "Qwen/Qwen3"),
        docs="https://api.together.ai/settings/api-keys",
        aliases=("togetherai", "together-ai"),
    ),
    "deepseek": CatalogueEntry(
        title="DeepSeek",
        base_url="https://api.deepseek.com/v1",
        keys=("DEEPSEEK_API_KEY",),
        suggested=("deepseek-chat",),
        docs="https://platform.deepseek.com/api_keys",
        quirks=_READS_ITS_REASONING,
    ),
    "mistral": CatalogueEntry(
        title="Mistral",
        base_url="https://api.mistral.ai/v1",
        keys=("MISTRAL_API_KEY",),
        suggested=("mistral-medium-latest", "mistral-small-latest"),
        docs="https://console.mistral.ai/api-keys",
        quirks=Quirks(call_ids="nine", usage_option=False),
    ),
    "google": CatalogueEntry(
        title="Google",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        suggested=("gemini-flash-latest", "gemini-2.5-flash", "gemini-"),
        docs="https://aistudio.google.com/app/apikey",
        aliases=("gemini", "google-ai"),
        quirks=_GEMINI,
        for_models=(("gemini-2", replace(_GEMINI, call_extra_blank="")),),
    ),
    "xai": CatalogueEntry(
        title="xAI",
        base_url="https://api.x.ai/v1",
        keys=("XAI_API_KEY",),
        suggested=("grok-4", "grok-"),
        docs="https://console.x.ai",
        aliases=("x.ai", "grok"),
        quirks=Quirks(output_key="max_completion_tokens"),
    ),
    "ollama": CatalogueEntry(
        title="Ollama",
        base_url="http://127.0.0.1:11434/v1",
        keys=("OLLAMA_API_KEY",),
        local=True,
        docs="https://ollama.com/download",
    ),
    "lmstudio": CatalogueEntry(
        title="LM Studio",
        base_url="http://127.0.0.1:1234/v1",
        keys=("LM_API_KEY",),
        local=True,
        docs="https://lmstudio.ai",
        aliases=("lm-studio",),
    ),
    "llamacpp": CatalogueEntry(
        title="llama.cpp",
        base_url="http://127.0.0.1:8080/v1",
        keys=("LLAMA_API_KEY",),
        local=True,
        docs="https://github.com/ggml-org/llama.cpp",
        aliases=("llama.cpp", "llama-cpp", "llama-server"),
    ),
    "vllm": CatalogueEntry(
        title="vLLM",
        base_url="http://127.0.0.1:8000/v1",
        keys=("VLLM_API_KEY",),
        local=True,
        docs="https://docs.vllm.ai",
    ),
    "sglang": CatalogueEntry(
        title="SGLang",
        base_url="http://127.0.0.1:30000/v1",
        keys=("SGLANG_API_KEY",),
        local=True,
        docs="https://docs.sglang.ai",
    ),
    "jan": CatalogueEntry(
        title="Jan",
        base_url="http://127.0.0.1:1337/v1",
        keys=("JAN_API_KEY",),
        local=True,
        docs="https://jan.ai",
    ),
    "koboldcpp": CatalogueEntry(
        title="KoboldCpp",
        base_url="http://127.0.0.1:5001/v1",
        keys=("KOBOLDCPP_API_KEY",),
        local=True,
        docs="https://github.com/LostRuins/koboldcpp",
    ),
    "custom": CatalogueEntry(
        title="Any OpenAI-compatible server",
        keys=("CUSTOM_API_KEY",),
        local=True,
        aliases=("openai-compatible",),
    ),
    "custom-anthropic": CatalogueEntry(
        title="Any Anthropic-compatible server",
        protocol="anthropic",
        keys=("CUSTOM_API_KEY",),
        local=True,
        aliases=("anthropic-compatible",),
        quirks=_CLAUDE,
    ),
    "local": CatalogueEntry(
        title="A small model that runs on this computer",
        protocol="local",
        local=True,
        aliases=("builtin", "built-in", "embedded"),
    ),
    "scripted": CatalogueEntry(
        title="Scripted answers, for tests and demos",
        protocol="scripted",
        local=True,
        aliases=("demo",),
    ),
}

_NAMES: Final[Mapping[str, str]] = {
    **{alias: name for name, entry in ENTRIES.items() for alias in entry.aliases},
    **{name: name for name in ENTRIES},
}


def canonical(provider: str) -> str | None:
    """Return the catalogue's name for what a person wrote; None when there is none."""
    return _NAMES.get(provider.strip().lower().replace("_", "-").replace(" ", "-"))


def closest(provider: str) -> list[str]:
    """Return similar names, for a typo."""
    found = likely(provider.strip().lower(), _NAMES, most=3)
    return list(dict.fromkeys(_NAMES[name] for name in found))


def chosen(text: str, current: ProviderSettings) -> ProviderSettings:
    """Parse `provider:model`, or a model of the current provider. URL and key of another provider
    are not taken over, because they would not fit."""
    provider, colon, model = text.strip().partition(":")
    name = canonical(provider)
    if colon and name is not None and name != canonical(current.provider):
        fresh = replace(current, base_url="", api_key="", headers={}, body={}, profile="auto")
        return replace(fresh, provider=name, name=model)
    return replace(current, name=model if colon and name is not None else text.strip())
