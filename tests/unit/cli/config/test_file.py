"""Edits keep what they do not change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.cli.config.file import quoted, reference, with_secret, with_setting, without_secrets
from hermes.core.errors import Misconfigured
from hermes.settings.sources import _unquoted

TEXT = """\
# my settings
model:
  name: "old"   # the good one
  provider: custom

# about waiting
gateway: {busy: queue}
"""


def test_comments_order_and_quotes_stay() -> None:
    changed = with_setting(TEXT, ("model", "provider"), "openai")
    assert changed == TEXT.replace("provider: custom", "provider: openai")


def test_a_key_that_was_not_there_is_added_with_its_section() -> None:
    changed = with_setting(TEXT, ("gateway", "resume", "auto"), False)
    assert "resume:" in changed
    assert changed.startswith("# my settings\nmodel:\n")
    assert with_setting("", ("agent", "steps_max"), 5) == "agent:\n  steps_max: 5\n"


def test_nothing_takes_the_key_away() -> None:
    assert "provider" not in with_setting(TEXT, ("model", "provider"), None)
    assert with_setting("", ("model", "provider"), None) != "null\n"


def test_a_file_that_cannot_be_read_is_not_changed() -> None:
    with pytest.raises(Misconfigured):
        with_setting("model: {a", ("model", "name"), "x")


def test_a_copy_without_secrets_asks_for_them_by_name() -> None:
    text = """\
model:
  api_key: sk-1  # mine
  fallbacks:
    - api_key: sk-2
      name: kept
platforms:
  telegram: {token: t-3, enabled: true}
  api: {key: '${ALREADY}'}
"""
    copy = without_secrets(text)
    assert "sk-" not in copy
    assert "t-3" not in copy
    assert "${MODEL_API_KEY}" in copy
    assert "${MODEL_FALLBACKS_0_API_KEY}" in copy
    assert "${PLATFORMS_TELEGRAM_TOKEN}" in copy
    assert "${ALREADY}" in copy
    assert "# mine" in copy
    assert reference(("a", "b-c")) == "A_B_C"


def test_a_secret_replaces_its_line_and_leaves_the_others() -> None:
    text = "# keys\nexport A=1\nB=2\n"
    assert with_secret(text, "A", "x y") == '# keys\nA="x y"\nB=2\n'
    assert with_secret(text, "C", "3") == "# keys\nexport A=1\nB=2\nC=3\n"
    assert with_secret("", "C", "3") == "C=3\n"


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs", "Cc")) | st.just("\n")))
def test_what_is_quoted_is_read_back(value: str) -> None:
    assert _unquoted(quoted(value)) == value
