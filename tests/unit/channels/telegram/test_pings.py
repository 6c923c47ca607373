"""P9: what a model writes pings nobody on Telegram."""

import pytest

from hermes.channels.telegram.render import plain_of, render
from tests.doubles.telegram_markdown import pinged


@pytest.mark.parametrize(
    "text",
    [
        "Ask @ada_lovelace about it.",
        "(@channel) and **@everyone**, @**channel**",
        "[Ada](tg://user?id=7)",
        "[Ada](TG://user?id=7)",
        "# @ada_lovelace\n- @ada_lovelace\n> @ada_lovelace",
    ],
)
def test_an_answer_pings_nobody(text: str) -> None:
    (chunk,) = render(text)
    assert pinged(chunk) == []
    assert plain_of(chunk).replace("\u2060", "").count("@") == text.count("@")


def test_the_double_sees_a_ping_that_is_one() -> None:
    assert pinged(r"Ask @ada\_lovelace, not a@example\.org or `@code_only`") == ["@ada_lovelace"]
    assert pinged("[Ada](tg://user?id=7)") == ["tg://user?id=7"]


def test_code_and_addresses_stay_as_they_are() -> None:
    (chunk,) = render("Mail ada@example.org or run `git log @{u} @ada_lovelace`.")
    assert "\u2060" not in chunk
