"""What a model call costs: the provider's word, the owner's, the list's; or nobody knows."""

import pytest

from hermes.core.messages import Usage
from hermes.providers.prices import cost_of
from hermes.settings.shape import Price

MILLION = Usage(input=1_000_000, output=1_000_000)
OWN = {
    "openai:big": Price(input=1.0, output=2.0),
    "*small*": Price(input=0.5, output=0.5, cached=0.1),
    "big": Price(input=9.0, output=9.0),
}


def test_the_provider_s_own_cost_wins() -> None:
    paid = Usage(input=1_000_000, cost=0.25)
    assert cost_of("openai:big", paid, OWN) == 0.25
    assert cost_of("nobody:knows", paid, {}) == 0.25


def test_an_override_names_a_model_with_its_provider_or_alone_or_by_a_pattern() -> None:
    assert cost_of("openai:big", MILLION, OWN) == 3.0
    assert cost_of("groq:big", MILLION, OWN) == 18.0
    assert cost_of("groq:a-small-one", MILLION, OWN) == 1.0


def test_cached_tokens_cost_the_same_unless_they_have_a_price() -> None:
    cached = Usage(input=1_000_000, cached=1_000_000)
    assert cost_of("openai:big", cached, OWN) == 1.0
    assert cost_of("openai:small", cached, OWN) == 0.1
    assert cost_of("openai:small", Usage(input=10, cached=1_000_000), OWN) == pytest.approx(1e-6)


def test_a_model_of_one_s_own_machine_costs_nothing_unless_the_owner_says_so() -> None:
    assert cost_of("ollama:llama3", MILLION, {}) == 0.0
    assert cost_of("ollama:llama3", MILLION, {"ollama:*": Price(input=1.0)}) == 1.0


def test_a_price_that_nobody_knows_is_never_nothing() -> None:
    for model in ("openai:big", "custom:x", "big", ""):
        assert cost_of(model, MILLION, {}) is None
        assert cost_of(model, Usage(), {}) is None


def test_the_list_is_asked_last_and_told_how_many_calls_there_were() -> None:
    asked: list[tuple[str, str, Usage, int]] = []

    def listed(provider: str, model: str, usage: Usage, calls: int) -> float | None:
        asked.append((provider, model, usage, calls))
        return 7.0

    assert cost_of("openai:big", MILLION, OWN, listed=listed) == 3.0
    assert cost_of("ollama:x", MILLION, {}, listed=listed) == 0.0
    assert cost_of("", MILLION, {}, listed=listed) is None
    assert asked == []
    assert cost_of("openai:a:b", MILLION, {}, calls=4, listed=listed) == 7.0
    assert asked == [("openai", "a:b", MILLION, 4)]
