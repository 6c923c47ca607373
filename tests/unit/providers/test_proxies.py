"""Models behind a proxy that the environment names."""

import pytest

from hermes.core.errors import ProviderRefused, ProviderSilent
from hermes.providers.build import build
from hermes.providers.settings import ProviderSettings
from tests.unit.providers.asking import ONCE
from tests.unit.providers.recordings import HELLO, OPENAI, OPENAI_TEXT
from tests.unit.providers.servers import Server, chunked

FAR = "http://192.0.2.1/v1"  # nobody's: an address for documentation


async def test_the_proxy_of_the_environment_is_used_and_no_proxy_spares_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Server([[chunked(OPENAI)]]) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "elsewhere.example")
        settings = ProviderSettings(provider="custom", base_url=FAR, name="m", patience=ONCE)
        chain = build(settings, {})
        answer = await chain.ask(HELLO, lambda _: None)
        await chain.aclose()
    assert answer.text == OPENAI_TEXT
    assert proxy.taken[0].line.startswith("POST http://192.0.2.1/v1/chat/completions ")


async def test_a_proxy_that_is_away_or_of_another_kind_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = ProviderSettings(provider="custom", base_url=FAR, name="m", patience=ONCE)
    monkeypatch.setenv("no_proxy", "")
    for proxy, kind, text in (
        ("http://me:word@127.0.0.1:9", ProviderSilent, "through the proxy 127.0.0.1:9"),
        ("socks5://me:word@127.0.0.1:9", ProviderRefused, "a proxy with the scheme socks5"),
    ):
        monkeypatch.setenv("http_proxy", proxy)
        chain = build(settings, {})
        with pytest.raises(kind, match=text) as told:
            await chain.ask(HELLO, lambda _: None)
        await chain.aclose()
        assert "word" not in str(told.value)
