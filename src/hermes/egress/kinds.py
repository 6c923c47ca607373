"""Detect what a body is by its bytes; the media type decides only between kinds of text."""

import codecs
import re
from typing import Final, Literal

from hermes.lazy import LazyPattern

Kind = Literal["html", "json", "text", "binary"]

SAMPLE_BYTES: Final = 4_096
_MAGIC: Final = (
    (b"\x89PNG\r\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"RIFF", "RIFF file (WebP, WAV or AVI)"),
    (b"%PDF", "PDF document"),
    (b"PK\x03\x04", "ZIP archive (or Office document)"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ", "xz archive"),
    (b"\x7fELF", "program"),
    (b"MZ", "program"),
    (b"ID3", "MP3 audio"),
    (b"OggS", "Ogg audio or video"),
    (b"\x1aE\xdf\xa3", "Matroska video"),
    (b"wOF", "font"),
)
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MARKUP: Final = re.compile(
    rb"\s*(?:<!--|<!doctype\s+html|<(?:html|head|body|title|script|style|meta|link|div|p|h1|table|a)\b)",
    re.I,
)
_CHARSET: Final = LazyPattern(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.I)
# Encodings that browsers know. Others, like UTF-7, can hide content.
_KNOWN: Final = LazyPattern(
    r"utf-?8|utf-16(?:le|be)?|iso-8859-\d{1,2}|windows-125\d|koi8-[ru]|gb18030|gbk|gb2312|big5"
    r"|shift_jis|euc-jp|euc-kr|iso-2022-jp"
)
_AS_BROWSERS: Final = {"us-ascii": "windows-1252", "ascii": "windows-1252"} | dict.fromkeys(
    ("latin-1", "latin1", "iso-8859-1"), "windows-1252"
)


def kind_of(body: bytes, media_type: str) -> tuple[Kind, str]:
    """Return the kind of a body and, for one that is not text, its description in words."""
    sample = body[:SAMPLE_BYTES]
    for magic, words in _MAGIC:
        if sample.startswith(magic):
            return "binary", words
    if sample[4:8] == b"ftyp":
        return "binary", "MP4 video or picture"
    wide = sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if b"\0" in sample and not wide and "charset=utf-16" not in media_type.lower():
        return "binary", "binary file"
    said = media_type.partition(";")[0].strip().lower()
    if said in ("text/html", "application/xhtml+xml") or _MARKUP.match(sample):
        return "html", ""
    if said.endswith(("/json", "+json")):
        return "json", ""
    return "text", ""


def text_of(body: bytes, media_type: str) -> str:
    """Return the body as text. It never fails: bytes that cannot be decoded become replacement
    characters."""
    for bom, codec in _BOMS:
        if body.startswith(bom):
            return body.decode(codec, "replace")
    head = body[:SAMPLE_BYTES].decode("ascii", "replace")
    found = _CHARSET.search(media_type) or _CHARSET.search(head)
    name = found[1].lower() if found else "utf-8"
    name = _AS_BROWSERS.get(name, name)
    try:
        return body.decode(name if _KNOWN.fullmatch(name) else "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")
