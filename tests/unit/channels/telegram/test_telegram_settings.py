"""`platforms.telegram`: what is right is understood, what is wrong is named with its fix."""

from typing import Any

import pytest

from hermes.channels.kit.settings import CommonSettings
from hermes.channels.telegram.settings import NOBODY, telegram_settings
from hermes.core.errors import Misconfigured

HOOK = {"url": "https://bot.example.test/tg/", "secret": "s" * 16}


def settings(**raw: Any) -> Any:
    return telegram_settings({"token": "1:abc", **raw})


def problem(**raw: Any) -> Misconfigured:
    with pytest.raises(Misconfigured) as caught:
        settings(**raw)
    return caught.value


def test_a_token_is_enough() -> None:
    made = settings()
    assert made.api_base == "https://api.telegram.org"
    assert (made.mode, made.common) == ("polling", CommonSettings())
    assert made.notices == (NOBODY,), "nobody is let in by default, and that is said"
    assert settings(allowed_users=[1]).notices == ()


def test_the_token_may_be_a_secret_and_never_shows_itself() -> None:
    made = telegram_settings({}, {"TELEGRAM_BOT_TOKEN": "1:from-env"})
    assert made.token == "1:from-env"
    hooked = settings(mode="webhook", webhook=HOOK)
    assert "1:" not in repr(made) + repr(hooked)
    assert "ssss" not in repr(hooked)


def test_without_a_token_the_fix_is_named() -> None:
    with pytest.raises(Misconfigured, match="BotFather") as caught:
        telegram_settings({"token": " "})
    assert caught.value.key == "platforms.telegram.token"
    assert "hermes config set TELEGRAM_BOT_TOKEN" in str(caught.value)


@pytest.mark.parametrize(
    "given",
    ["http://127.0.0.1:9901", "http://127.0.0.1:9901/", "http://127.0.0.1:9901/bot"],
)
def test_an_address_is_understood_with_and_without_its_end(given: str) -> None:
    assert settings(api_base=given).api_base == "http://127.0.0.1:9901"


def test_people_are_numbers() -> None:
    made = settings(allowed_users=[1, "2", " 3 "], allowed_chats=-100)
    assert (made.common.allowed_users, made.common.allowed_chats) == (
        frozenset("123"),
        frozenset({"-100"}),
    )
    assert settings(allowed_users=None).common.allowed_users == frozenset()
    for wrong in (["@ada"], [True], [1.5], {"a": 1}, [None]):
        assert problem(allowed_users=wrong).key == "platforms.telegram.allowed_users"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("token", 5),
        ("token", "1:a b/c"),
        ("api_base", "ftp://x"),
        ("api_base", "nonsense"),
        ("require_mention", "yes"),
        ("mode", "pushing"),
        ("poll_s", 0),
        ("poll_s", True),
        ("drafts", 1),
        ("banner", "no"),
        ("webhook", "https://x"),
    ],
)
def test_what_is_wrong_is_named(key: str, value: object) -> None:
    found = problem(**{key: value})
    assert found.key == f"platforms.telegram.{key}"


def test_a_key_that_does_not_exist_is_named_with_the_nearest() -> None:
    found = problem(allow_users=[1])
    assert found.key == "platforms.telegram.allow_users"
    assert "platforms.telegram.allowed_users" in str(found)
    assert problem(webhook={"uri": "x"}).key == "platforms.telegram.webhook.uri"
    assert settings(enabled=True)


def test_a_webhook_needs_an_address_and_a_secret() -> None:
    made = settings(mode="webhook", webhook={**HOOK, "port": 9000, "host": "0.0.0.0"}).webhook  # noqa: S104
    assert (made.url, made.port) == ("https://bot.example.test/tg", 9000)
    at = "platforms.telegram.webhook"
    assert problem(mode="webhook").key == f"{at}.url"
    assert problem(mode="webhook", webhook={"url": HOOK["url"]}).key == f"{at}.secret"
    short = problem(mode="webhook", webhook={**HOOK, "secret": "short"})
    assert short.key == f"{at}.secret"
    assert "short" not in str(short).replace("too short", "")
    assert problem(mode="webhook", webhook={**HOOK, "port": 70_000}).key == f"{at}.port"
    secret = {"TELEGRAM_WEBHOOK_SECRET": "t" * 20}
    made = telegram_settings(
        {"token": "1:a", "mode": "webhook", "webhook": {"url": HOOK["url"]}}, secret
    ).webhook
    assert made is not None
    assert made.secret == "t" * 20


def test_a_webhook_that_is_not_used_may_be_incomplete() -> None:
    assert settings(webhook={"url": ""}).webhook is None
