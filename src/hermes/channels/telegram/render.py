"""Render a reply as the chunks that Telegram gets, and back to plain text. Pure."""

import re
from collections.abc import Callable, Sequence

from hermes.channels.kit.chunks import first_part, split, utf16_units
from hermes.channels.telegram.inline import escape
from hermes.channels.telegram.markdown import markdown_v2

TEXT_UNITS_MAX = 4096  # UTF-16, as Telegram counts
MARK_UNITS = 128  # kept free for words that may have to stand before a chunk
CURSOR = " …"

_TOKEN = re.compile(
    r"\\(?P<kept>[!-/:-@\[-`{-~])"
    r"|```(?P<language>[^\n`\\ ]*\n)?(?P<block>(?:[^`\\]|\\.)*)```"
    r"|`(?P<code>(?:[^`\\]|\\.)*)`"
    r"|\]\((?P<url>(?:[^)\\]|\\.)*)\)"
    r"|(?P<quote>^>)"
    r"|(?P<mark>\|\||[*_~\[])",
    re.MULTILINE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def render(text: str) -> Sequence[str]:
    """Return MarkdownV2 chunks, each within the limit after escaping. A chunk that shows nothing is
    left out."""
    chunks = _chunks(text, markdown_v2)
    return chunks or _chunks(text, escape)  # marks alone are meant as text


def _chunks(text: str, convert: Callable[[str], str]) -> Sequence[str]:
    limit = TEXT_UNITS_MAX - MARK_UNITS
    pieces = split(text, limit, lambda part: utf16_units(convert(part)))
    chunks = (convert(piece.text).strip("\n") for piece in pieces)
    return tuple(chunk for chunk in chunks if plain_of(chunk).strip())


def plain_of(chunk: str) -> str:
    """Return a chunk without its marks, for when Telegram cannot parse them."""
    return _TOKEN.sub(_plain_token, chunk)


def shows(text: str, chunk: str) -> bool:
    """Return True if the text is what the chunk looks like in a chat, with its marks parsed or not.
    Spaces do not count: Telegram trims them by its own rules."""
    read = _TOKEN.sub(lambda token: "" if token["url"] is not None else _plain_token(token), chunk)
    return _letters(text) in (_letters(read), _letters(plain_of(chunk)), _letters(chunk))


def _letters(text: str) -> str:
    return "".join(text.split())


def _plain_token(token: re.Match[str]) -> str:
    if token["kept"] is not None:
        return token["kept"]
    for name in ("block", "code"):
        if token[name] is not None:
            return _ESCAPE.sub(r"\1", token[name]).strip("\n")
    if token["url"] is not None:
        url = _ESCAPE.sub(r"\1", token["url"])
        return f" ({url})"
    return ""


def draft_of(text: str) -> str:
    """Return the beginning of an unfinished answer, without marks."""
    shown = plain_of(markdown_v2(first_part(text, TEXT_UNITS_MAX))).strip()
    return first_part(shown, TEXT_UNITS_MAX - len(CURSOR), utf16_units).rstrip() + CURSOR
