"""Current prices of many providers, from a package that is updated as they change. Offline."""

from typing import Final

from genai_prices import Usage as Tokens
from genai_prices import calc_price

from hermes.core.messages import Usage

# Our name of a provider, and the list's. One that is missing here has no price in it.
IDS: Final = {
    "anthropic": "anthropic",
    "deepseek": "deepseek",
    "google": "google",
    "groq": "groq",
    "kimi": "moonshotai",
    "minimax": "minimax",
    "mistral": "mistral",
    "openai": "openai",
    "openrouter": "openrouter",
    "together": "together",
    "xai": "x-ai",
    "zai": "zai",
}


def listed(provider: str, model: str, usage: Usage, calls: int) -> float | None:
    """Return the listed price; None for an unknown model. Some models cost more in long requests,
    so the average length per call counts."""
    if provider not in IDS:
        return None
    each = max(calls, 1)
    cached, written = usage.cached / each, usage.cache_written / each
    tokens = Tokens(
        input_tokens=max(usage.input / each, cached + written),
        cache_read_tokens=cached,
        cache_write_tokens=written,
        output_tokens=usage.output / each,
    )
    try:
        price = calc_price(tokens, model, provider_id=IDS[provider]).total_price
    except (LookupError, ValueError):  # not in the list; or counts that contradict each other
        return None
    return float(price) * each
