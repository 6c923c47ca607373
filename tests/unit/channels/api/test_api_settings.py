"""`platforms.api`: what may be set, and what is said when it is wrong."""

import pytest

from hermes.channels.api.settings import ApiSettings, api_settings
from hermes.core.errors import Misconfigured


def test_the_defaults_are_this_machine_only() -> None:
    found = api_settings({"enabled": True, "key": "k"}, secrets={})
    assert found == ApiSettings(key="k", host="127.0.0.1", port=8642)


def test_the_key_may_come_from_the_secrets_and_the_file_wins() -> None:
    secrets = {"HERMES_API_KEY": "secret"}
    assert api_settings({}, secrets=secrets).key == "secret"
    assert api_settings({"key": "mine"}, secrets=secrets).key == "mine"


@pytest.mark.parametrize("raw", [{}, {"key": ""}, {"key": "  "}, {"key": None}])
def test_without_a_key_the_platform_does_not_start(raw: dict[str, object]) -> None:
    with pytest.raises(Misconfigured, match="HERMES_API_KEY") as caught:
        api_settings(raw, secrets={})
    assert caught.value.key == "platforms.api.key"


@pytest.mark.parametrize(
    ("raw", "key", "word"),
    [
        ({"key": 5}, "platforms.api.key", "text"),
        ({"key": "a b"}, "platforms.api.key", "header"),
        ({"key": "schlüssel"}, "platforms.api.key", "header"),
        ({"key": "k", "port": "8642"}, "platforms.api.port", "whole number"),
        ({"key": "k", "port": True}, "platforms.api.port", "whole number"),
        ({"key": "k", "port": 70_000}, "platforms.api.port", "whole number"),
        ({"key": "k", "host": 5}, "platforms.api.host", "host name"),
        ({"key": "k", "host": " "}, "platforms.api.host", "host name"),
        ({"key": "k", "enabled": "yes"}, "platforms.api.enabled", "true or false"),
        ({"key": "k", "prot": 1}, "platforms.api.prot", "Did you mean platforms.api.port"),
        ({"key": "k", "zzz": 1}, "platforms.api.zzz", "There are: enabled, key, host, port"),
    ],
)
def test_what_is_wrong_is_named_with_its_fix(raw: dict[str, object], key: str, word: str) -> None:
    with pytest.raises(Misconfigured, match=word) as caught:
        api_settings(raw, secrets={})
    assert caught.value.key == key


def test_no_text_about_the_settings_contains_the_key() -> None:
    assert "topsecret" not in repr(ApiSettings(key="topsecret"))
    with pytest.raises(Misconfigured) as caught:
        api_settings({"key": "topsecret with spaces"}, secrets={})
    assert "topsecret" not in str(caught.value)
