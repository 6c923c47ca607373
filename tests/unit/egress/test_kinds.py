"""Which letters a body is written in, and what it is."""

import pytest

from hermes.egress.kinds import kind_of, text_of


@pytest.mark.parametrize(
    ("body", "said", "text"),
    [
        ("\u00e9".encode(), "text/plain", "\u00e9"),
        (b"\xe9", "text/plain; charset=ISO-8859-1", "\u00e9"),
        (b"\x80", "text/html; charset=latin1", "\u20ac"),
        (b"\xff\xfea\0", "text/plain; charset=utf-8", "a"),
        (b"\xef\xbb\xbfa", "", "a"),
        (b'<meta charset="windows-1251">\xef', "text/html", '<meta charset="windows-1251">\u043f'),
        (b"+ADw-script+AD4-", "text/html; charset=utf-7", "+ADw-script+AD4-"),
        (b"a\xff", "text/plain; charset=nonsense", "a\ufffd"),
        (b"a", "text/plain; charset=zlib_codec", "a"),
    ],
)
def test_a_body_is_decoded_as_a_browser_would(body: bytes, said: str, text: str) -> None:
    assert text_of(body, said) == text


def test_the_bytes_win_over_the_word_of_a_server() -> None:
    assert kind_of(b"GIF89a", "text/html")[0] == "binary"
    assert kind_of(b"\xff\xfe<\0", "text/html")[0] == "html"
    assert kind_of(b"", "") == ("text", "")
