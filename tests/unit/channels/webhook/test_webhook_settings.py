"""What may be written below platforms.webhook, and what is said about everything else."""

import pytest

from hermes.channels.webhook.settings import webhook_settings
from hermes.core.errors import Misconfigured
from hermes.core.messages import Address

SECRET = "correct-horse"


def one(**route: object) -> dict[str, object]:
    return {"routes": {"ci": {"secret": SECRET, **route}}}


def problem(raw: dict[str, object], **secrets: str) -> str:
    with pytest.raises(Misconfigured) as wrong:
        webhook_settings(raw, secrets)
    return str(wrong.value)


def test_a_route_with_nothing_but_a_secret_is_enough() -> None:
    settings = webhook_settings(one(), {})
    route = settings.routes["ci"]
    assert (settings.host, settings.port) == ("127.0.0.1", 8644)
    assert (route.signature, route.prompt, route.session) == ("hermes", "{body}", "event")
    assert route.deliver == Address(platform="webhook", chat="ci")


def test_a_secret_may_stand_in_the_environment() -> None:
    settings = webhook_settings(
        {"routes": {"my-ci": {}}}, {"WEBHOOK_MY_CI_SECRET": SECRET, "OTHER": "x"}
    )
    assert settings.routes["my-ci"].secret == SECRET


@pytest.mark.parametrize("secret", [None, "", "   "])
def test_a_route_without_a_secret_does_not_start(secret: str | None) -> None:
    said = problem({"routes": {"ci": {"secret": secret}}}, WEBHOOK_CI_SECRET=" ")
    assert said.startswith("platforms.webhook.routes.ci.secret:")
    assert "hermes config set WEBHOOK_CI_SECRET -" in said


def test_a_secret_shows_itself_nowhere() -> None:
    settings = webhook_settings(one(), {})
    assert SECRET not in repr(settings)
    for raw in (one(secret=[SECRET]), one(deliver=5), {"routes": {"ci": {SECRET: 1}, "": SECRET}}):
        with pytest.raises(Misconfigured) as wrong:
            webhook_settings(raw, {})
        assert SECRET not in str(wrong.value).replace(f"ci.{SECRET}", "")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("telegram:12345", Address(platform="telegram", chat="12345")),
        ("telegram:-100:7", Address(platform="telegram", chat="-100", thread="7")),
        ("home", "home"),
        ("", Address(platform="webhook", chat="ci")),
    ],
)
def test_an_answer_goes_where_the_route_says(written: str, meant: object) -> None:
    assert webhook_settings(one(deliver=written), {}).routes["ci"].deliver == meant


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({}, "platforms.webhook.routes: there is no route"),
        ({"ports": 1}, "platforms.webhook.ports: there is no such setting. Did you mean port?"),
        ({"port": 70000}, "platforms.webhook.port: Expected `int` <= 65535"),
        ({"port": "8644"}, "platforms.webhook.port: Expected `int`, got `str`"),
        ({"port": True}, "platforms.webhook.port: "),
        ({"host": 1}, "platforms.webhook.host: "),
        ({"routes": []}, "platforms.webhook.routes: "),
        ({"routes": {"ci": "x"}}, "platforms.webhook.routes.ci: is not a section"),
        ({"routes": {"A b": {}}}, "platforms.webhook.routes.A b: is not a valid name for a route"),
        (one(signature="md5"), "platforms.webhook.routes.ci.signature: is not a valid"),
        (one(session="lane"), "platforms.webhook.routes.ci.session: is not a valid"),
        (one(secret=12345678), "platforms.webhook.routes.ci.secret: Expected `str`, got `int`"),
        (one(secrt="x"), "platforms.webhook.routes.ci.secrt: there is no such setting"),
        (one(deliver="everywhere"), "platforms.webhook.routes.ci.deliver: “everywhere”"),
        (one(deliver="telegram:"), "platforms.webhook.routes.ci.deliver: "),
        (one(prompt=" "), "platforms.webhook.routes.ci.prompt: is empty"),
        (one(prompt="{a}" * 101), "platforms.webhook.routes.ci.prompt: is longer than"),
        (one(prompt="a" * 20_001), "platforms.webhook.routes.ci.prompt: is longer than"),
    ],
)
def test_what_is_wrong_is_named_with_its_fix(raw: dict[str, object], said: str) -> None:
    text = problem(raw)
    assert text.startswith(said)
    assert text.count(". ") >= 1


def test_a_platform_that_says_enabled_is_read_all_the_same() -> None:
    assert webhook_settings({"enabled": True, "host": None, **one()}, {}).host == "127.0.0.1"
