"""Read the token counts of an OpenAI chat completion. Pure."""

import msgspec
from msgspec import Raw, Struct

from hermes.core.messages import Usage
from hermes.providers.folding import Count, count


class _PromptDetails(Struct):
    cached_tokens: Count = None
    cache_write_tokens: Count = None


class _OutputDetails(Struct):
    reasoning_tokens: Count = None


class _Usage(Struct):
    prompt_tokens: Count = None
    completion_tokens: Count = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _OutputDetails | None = None
    prompt_cache_hit_tokens: Count = None
    cached_tokens: Count = None
    cost: float | None = None


_usages = msgspec.json.Decoder(_Usage)


def usage_of(raw: Raw) -> Usage:
    """Return the token counts. Malformed counts are dropped, because the answer itself is fine."""
    try:
        usage = _usages.decode(raw)
    except (ValueError, RecursionError):
        return Usage()
    prompt = usage.prompt_tokens_details or _PromptDetails()
    output = usage.completion_tokens_details or _OutputDetails()
    cached = prompt.cached_tokens or usage.prompt_cache_hit_tokens or usage.cached_tokens
    return Usage(
        input=count(usage.prompt_tokens),
        output=count(usage.completion_tokens),
        cached=count(cached),
        cache_written=count(prompt.cache_write_tokens),
        reasoning=count(output.reasoning_tokens),
        cost=usage.cost if usage.cost is not None and usage.cost >= 0 else None,
    )
