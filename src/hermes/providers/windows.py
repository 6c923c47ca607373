"""Ask a server how many tokens its model can read, in the ways that servers tell it.

llama.cpp has `meta.n_ctx` in its list of models and `/props`, vLLM `max_model_len`, Ollama
`/api/show`, LM Studio `/api/v0/models`. Most others say nothing: then the setting, or the number in
the first overflow error, is all there is. Only servers of the owner are asked, never a service.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import ProviderFailed
from hermes.providers.build import listed_window
from hermes.providers.catalogue import canonical
from hermes.providers.plan import RequestPlan
from hermes.providers.wire import Wire

ASK_S: Final = 5.0  # for all ways together
TOKENS_MIN, TOKENS_MAX = 256, 100_000_000  # what is outside is no window
_NUM_CTX: Final = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)
_OF_MODEL: Final = ".context_length"


class Question(Struct, frozen=True):
    """One way to ask: a path below the server's root, perhaps a body, and who reads the answer."""

    path: str
    read: Callable[[bytes], int]
    body: bytes | None = None


async def ask_window(plan: RequestPlan) -> int:
    """Return the context window of the plan's model; 0 if its server does not tell it."""
    if plan.endpoint is None or not plan.entry.local or plan.entry.protocol != "openai":
        return 0
    name, endpoint = plan.settings.name, plan.endpoint
    provider = canonical(plan.settings.provider) or ""
    root = replace(endpoint, base_url=endpoint.base_url.rstrip("/").removesuffix("/v1"))
    listing = Question("/models", lambda body: listed_window(body, name))
    try:
        async with asyncio.timeout(ASK_S):
            tokens = await _answer(Wire(endpoint), listing)
            if tokens is None and provider == "custom":
                return 0  # it is no server that tells such things
            for question in () if tokens else _questions(provider, name):
                tokens = tokens or await _answer(Wire(root), question)
            return tokens or 0
    except TimeoutError:
        return 0


async def _answer(wire: Wire, question: Question) -> int | None:
    """Return the number, 0 for an answer without one, None for no answer."""
    try:
        tokens = question.read(await wire.fetch(question.path, question.body))
    except (ProviderFailed, ValueError, RecursionError):
        return None
    finally:
        await wire.aclose()
    return tokens if TOKENS_MIN <= tokens <= TOKENS_MAX else 0


def _questions(provider: str, name: str) -> list[Question]:
    show = Question("/api/show", ollama_window, msgspec.json.encode({"model": name}))
    studio = Question(f"/api/v0/models/{quote(name)}", studio_window)
    ways = {
        "ollama": [show],
        "lmstudio": [studio],
        "vllm": [],
        "custom": [Question("/props", props_window), show, studio],
    }
    return ways.get(provider, [])


class _Shown(Struct):
    parameters: str = ""
    model_info: dict[str, object] = {}


def ollama_window(body: bytes) -> int:
    """What the model is run with, if that is set; else what it was made for."""
    shown = msgspec.json.decode(body, type=_Shown)
    if set_to := _NUM_CTX.search(shown.parameters):
        return int(set_to[1])
    found = [value for key, value in shown.model_info.items() if key.endswith(_OF_MODEL)]
    return next((value for value in found if isinstance(value, int)), 0)


class _Studio(Struct):
    loaded_context_length: int = 0
    max_context_length: int = 0


def studio_window(body: bytes) -> int:
    found = msgspec.json.decode(body, type=_Studio)
    return found.loaded_context_length or found.max_context_length


class _Generation(Struct):
    n_ctx: int = 0


class _Props(Struct):
    default_generation_settings: _Generation = msgspec.field(default_factory=_Generation)


def props_window(body: bytes) -> int:
    return msgspec.json.decode(body, type=_Props).default_generation_settings.n_ctx
