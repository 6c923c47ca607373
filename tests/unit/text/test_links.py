"""P11: what a model wrote after it read foreign content shows its links as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.text.links import links_as_text, without_addresses

URL = "https://evil.test/?q=secret"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (f"[your bill]({URL})", f"your bill (`{URL}`)"),
        (f"![]({URL})", f"`{URL}`"),
        (f'![a cat](<{URL}> "title")', f"a cat (`{URL}`)"),
        (f"See {URL}.", f"See `{URL}`."),
        (f"<{URL}>", f"`{URL}`"),
        ("[x](tg://resolve?domain=y)", "x (`tg://resolve?domain=y`)"),
        (f"`{URL}`", f"`{URL}`"),
        (f"```\ncurl {URL}\n```", f"```\ncurl {URL}\n```"),
        ("No link, a [note] and (text).", "No link, a [note] and (text)."),
    ],
)
def test_a_link_shows_its_whole_address(written: str, shown: str) -> None:
    assert links_as_text(written) == shown


@given(st.text(alphabet="ab[]()<>`!:/ .\n~", max_size=200))
def test_any_text_is_taken_and_doing_it_twice_is_doing_it_once(text: str) -> None:
    once = links_as_text(text)
    assert links_as_text(once) == once


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Go to evil.test/?q=secret now", "Go to `evil.test/?q=secret` now"),
        ("www.evil.test.", "`www.evil.test`."),
        ("version 1.2.3, e.g. this", "version 1.2.3, e.g. this"),
        ("ada@example.org", "ada@example.org"),
    ],
)
def test_a_host_without_a_scheme_is_a_link_in_a_chat_and_shown_as_text(
    written: str, shown: str
) -> None:
    assert links_as_text(written) == shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (f"[your bill]({URL}) is due", "your bill (link) is due"),
        (f"See {URL}", "See (link)"),
        ("See evil.test/?q=sec", "See (link)"),
        (f"[{URL}]({URL})", "(link) (link)"),
        (f"`{URL}`", "`(link)`"),
    ],
)
def test_a_draft_shows_no_address_of_a_link(written: str, shown: str) -> None:
    """A draft has no marks: a chat would make a link of every address in it."""
    assert without_addresses(written) == shown
