"""P3: people read the same facts that the engine obeys."""

from tests.doubles.telegram import TOKEN

from hermes.channels.telegram.manifest import manifest_of
from hermes.channels.telegram.settings import telegram_settings
from hermes.channels.webhook.manifest import MANIFEST
from hermes.core.channel import Manifest
from hermes.views.platform_facts import facts_in_words


def test_the_facts_of_telegram_in_words() -> None:
    facts = manifest_of(telegram_settings({"token": TOKEN}))
    assert facts_in_words(facts) == (
        "files up to 50 MB, up to 20 buttons, threads, answers shown while they are written, "
        "a sign on stored messages"
    )


def test_limits_come_first_and_a_plain_channel_has_none() -> None:
    limited = Manifest(name="x", window_s=86_400.0, ack_s=3.0)
    assert facts_in_words(limited) == (
        "replies only within 24 hours after a person's message, choices as text, "
        "acknowledges or refuses within 3 s"
    )
    assert facts_in_words(MANIFEST) == "acknowledges or refuses within 8 s"
    assert facts_in_words(Manifest(name="x", fetched=True)) == ""
