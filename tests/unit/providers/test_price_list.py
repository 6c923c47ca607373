"""The list of prices that others keep up to date, through our names for providers."""

import pytest

from hermes.core.messages import Usage

pytest.importorskip("genai_prices")

from hermes.providers.price_list import IDS, listed

SONNET = ("anthropic", "claude-sonnet-4-5")


def test_a_known_model_has_a_price_and_cached_tokens_a_lower_one() -> None:
    plain = listed(*SONNET, Usage(input=1_000, output=100), 1)
    cached = listed(*SONNET, Usage(input=1_000, output=100, cached=900), 1)
    assert plain is not None
    assert cached is not None
    assert 0 < cached < plain < 1


def test_many_short_calls_are_not_priced_as_one_long_one() -> None:
    each = listed(*SONNET, Usage(input=10_000, output=100), 1)
    many = listed(*SONNET, Usage(input=1_000_000, output=10_000), 100)
    long = listed(*SONNET, Usage(input=1_000_000, output=10_000), 1)
    assert each is not None
    assert long is not None
    assert many == pytest.approx(100 * each)
    assert long > 100 * each


def test_what_is_not_in_the_list_has_no_price() -> None:
    assert listed("openai", "no-such-model", Usage(input=1), 1) is None
    assert listed("nowhere", "gpt-5", Usage(input=1), 1) is None


def test_counts_that_contradict_each_other_are_no_error() -> None:
    assert listed(*SONNET, Usage(input=1, cached=5, cache_written=5), 0) is not None


def test_every_provider_of_ours_is_one_of_theirs() -> None:
    for ours in IDS:
        assert listed(ours, "no-such-model", Usage(input=1), 1) is None
