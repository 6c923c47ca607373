"""`platforms.api`: what may be set, and what is said when it is wrong."""

import pytest

from hermes.channels.api.settings import ApiSettings, api_settings, key_now
from hermes.core.errors import Misconfigured

KEY = "a-key-for-tests"


def test_the_defaults_are_this_machine_only() -> None:
    found = api_settings({"enabled": True, "key": KEY}, secrets={})
    assert found == ApiSettings(key=KEY, host="127.0.0.1", port=8642)


def test_the_key_may_come_from_the_secrets_and_the_file_wins() -> None:
    secrets = {"HERMES_API_KEY": "k9-tB2x-Vw7q-m4"}
    assert api_settings({}, secrets=secrets).key == "k9-tB2x-Vw7q-m4"
    assert api_settings({"key": "mine-in-the-file"}, secrets=secrets).key == "mine-in-the-file"


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
        ({"key": KEY, "port": "8642"}, "platforms.api.port", "whole number"),
        ({"key": KEY, "port": True}, "platforms.api.port", "whole number"),
        ({"key": KEY, "port": 70_000}, "platforms.api.port", "whole number"),
        ({"key": KEY, "host": 5}, "platforms.api.host", "host name"),
        ({"key": KEY, "host": " "}, "platforms.api.host", "host name"),
        ({"key": KEY, "enabled": "yes"}, "platforms.api.enabled", "true or false"),
        ({"key": KEY, "prot": 1}, "platforms.api.prot", "Did you mean platforms.api.port"),
        ({"key": KEY, "zzz": 1}, "platforms.api.zzz", "Known settings: enabled, key, host, port"),
    ],
)
def test_what_is_wrong_is_named_with_its_fix(raw: dict[str, object], key: str, word: str) -> None:
    with pytest.raises(Misconfigured, match=word) as caught:
        api_settings(raw, secrets={})
    assert caught.value.key == key


@pytest.mark.parametrize("key", ["short", "1234567", "aaaaaaaaaaaaaaaaaaaaaaaa"])
def test_a_key_that_is_easy_to_guess_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(Misconfigured, match="easy to guess") as caught:
        api_settings({"key": key}, secrets={})
    assert caught.value.key == "platforms.api.key"
    assert key not in str(caught.value)
    assert key_now({"key": key}, secrets={}) == ""


def test_the_key_of_the_moment_is_none_when_it_could_not_be_used() -> None:
    assert key_now({"key": KEY}, secrets={}) == KEY
    assert key_now({}, secrets={"HERMES_API_KEY": KEY}) == KEY
    for raw in ({}, {"key": 5}, {"key": "a b c d e f"}):
        assert key_now(raw, secrets={}) == ""


def test_from_where_it_may_be_reached_is_set_beside_it() -> None:
    raw = {"key": KEY, "host": "::", "trusted_proxies": ["10.0.0.2"], "hosts": ["a.example.org"]}
    reach = api_settings(raw, secrets={}).reach
    assert (reach.host, reach.hosts[0].name, str(reach.proxies[0])) == (
        "::",
        "a.example.org",
        "10.0.0.2/32",
    )
    with pytest.raises(Misconfigured, match=r"platforms\.api\.trusted_proxies"):
        api_settings({"key": KEY, "host": "::"}, secrets={})


def test_no_text_about_the_settings_contains_the_key() -> None:
    assert "topsecret" not in repr(ApiSettings(key="topsecret"))
    with pytest.raises(Misconfigured) as caught:
        api_settings({"key": "topsecret with spaces"}, secrets={})
    assert "topsecret" not in str(caught.value)
