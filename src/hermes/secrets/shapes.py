"""Recognise API keys of well-known services by their format, for secrets that are not known.

A pattern runs only if its marker occurs in the text, and repeats one character class up to a limit,
so there is no backtracking (ReDoS).
"""

import re
from collections.abc import Iterator

from hermes.lazy import LazyPattern

RUN_MAX = 4_096  # longest key, in characters
# Every such key contains the marker; most texts have none, which is fast to check.
_SHAPES = {
    "sk-": r"sk-[\w-]{20,512}",  # OpenAI, Anthropic, OpenRouter
    "k_live_": r"[srp]k_live_\w{16,256}",
    "k_test_": r"[srp]k_test_\w{16,256}",
    "gho_": r"gho_\w{30,256}",
    "ghp_": r"ghp_\w{30,256}",
    "ghr_": r"ghr_\w{30,256}",
    "ghs_": r"ghs_\w{30,256}",
    "ghu_": r"ghu_\w{30,256}",
    "github_pat_": r"github_pat_\w{22,256}",
    "glpat-": r"glpat-[\w-]{20,256}",
    "glptt-": r"glptt-[\w-]{20,256}",
    "glrt-": r"glrt-[\w-]{20,256}",
    "xox": r"xox[a-z]-[\w-]{10,256}",
    "xapp-": r"xapp-[\w-]{10,256}",
    "AKIA": r"AKIA[A-Z0-9]{16}",
    "ASIA": r"ASIA[A-Z0-9]{16}",
    "AIza": r"AIza[\w-]{35}",
    "ya29.": r"ya29\.[\w-]{20,1024}",
    "SG.": r"SG\.[\w-]{22}\.[\w-]{43}",
    "whsec_": r"whsec_[\w+/=-]{16,256}",
    "npm_": r"npm_[A-Za-z0-9]{36}",
    "pypi-": r"pypi-[\w-]{50,1024}",
    "hf_": r"hf_[A-Za-z0-9]{30,64}",
    "gsk_": r"gsk_[A-Za-z0-9]{40,64}",
    "xai-": r"xai-\w{40,128}",
    "nvapi-": r"nvapi-[\w-]{40,128}",
    "pplx-": r"pplx-[A-Za-z0-9]{40,64}",
    "tvly-": r"tvly-[\w-]{24,64}",
    "r8_": r"r8_[A-Za-z0-9]{30,64}",
    "_v1_": r"do[opr]_v1_[a-f0-9]{64}",
    "shp": r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    "syt_": r"syt_[A-Za-z0-9+/=]{1,128}_[A-Za-z0-9]{10,64}_[A-Za-z0-9]{4,16}",
    "lin_api_": r"lin_api_[A-Za-z0-9]{32,64}",
    "ntn_": r"ntn_[A-Za-z0-9]{40,64}",
    "dckr_pat_": r"dckr_pat_[\w-]{20,64}",
    "AGE-SECRET": r"AGE-SECRET-KEY-1[A-Z0-9]{58}",
    "SK": r"SK[0-9a-f]{32}",  # Twilio
    "eyJ": r"(?<![\w-])eyJ[\w-]{10,2048}\.eyJ[\w-]{4,4096}\.[\w-]{10,2048}",  # a signed token
    ".": r"(?<![\w-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}",  # Discord
    ":": r"(?<![0-9])[0-9]{8,10}:[\w-]{35}",  # Telegram
}
# These two have no prefix; their middle part is searched first.
_MIDDLES = {
    ".": LazyPattern(r"\.[\w-]{6}\.[\w-]{27}", re.ASCII),
    ":": LazyPattern(r":(?<=[0-9]{8}:)[\w-]{35}", re.ASCII),
}
_TOKENS = tuple((mark, LazyPattern(shape, re.ASCII)) for mark, shape in _SHAPES.items())
_URL = LazyPattern(r"://[^\s/:@\"'<>]{0,128}:([^\s/@\"'<>]{1,512})@")
_SCHEME = LazyPattern(r"(?:bearer|basic)[ :]{1,4}([\w.~+/=-]{16,4096})", re.ASCII | re.IGNORECASE)
_SCHEMES = ("Bearer", "bearer", "BEARER", "Basic ", "basic ")
_PEM = LazyPattern(
    r"-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----([^-]{1,16384})-----END [A-Z ]{0,32}PRIVATE KEY-----"
)


def shapes_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield where something looks like a key: [start, stop) of the secret part alone."""
    for mark, token in _TOKENS:
        middle = _MIDDLES.get(mark)
        if mark in text and (middle is None or middle.search(text) is not None):
            for found in token.finditer(text):
                if not _goes_on(text, found.start() - 1) and not _goes_on(text, found.end()):
                    yield found.span()
    if "://" in text:
        yield from (found.span(1) for found in _URL.finditer(text))
    if any(scheme in text for scheme in _SCHEMES):
        yield from (found.span(1) for found in _SCHEME.finditer(text))
    if "PRIVATE KEY-----" in text:
        yield from (found.span(1) for found in _PEM.finditer(text))


def _goes_on(text: str, place: int) -> bool:
    """Return True if the word continues after the match, which means it is not such a key."""
    return 0 <= place < len(text) and text[place].isascii() and text[place].isalnum()
