"""P11: what a model wrote after it read foreign content shows its links as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.text.links import links_as_text

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
