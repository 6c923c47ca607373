"""Parse MarkdownV2 as strictly as Telegram does, with Telegram's error messages."""

import re
from dataclasses import dataclass

RESERVED = frozenset("_*[]()~`>#+-=|{}.!")
SIGNS = ("```", "__", "||", "*", "_", "~", "`")
NAMES = {
    "```": "pre",
    "__": "underline",
    "||": "spoiler",
    "*": "bold",
    "_": "italic",
    "~": "strikethrough",
    "`": "code",
    "[": "text_link",
    ">": "blockquote",
}


class CannotParse(Exception):
    """The text is refused with this description."""


@dataclass(frozen=True)
class Entity:
    kind: str
    text: str
    detail: str = ""  # the address of a link, the language of a code block


@dataclass
class _Open:
    sign: str
    at: int  # offsets in the text without marks
    detail: str = ""


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.out: list[str] = []
        self.open: list[_Open] = []
        self.entities: list[Entity] = []

    @property
    def plain(self) -> str:
        return "".join(self.out)

    def parse(self) -> tuple[str, list[Entity]]:
        while self.at < len(self.source):
            self._one()
        if self.open and self.open[-1].sign == ">":
            self._close(self.open[-1])
        if self.open:
            self._fail(f"Can't find end of {NAMES[self.open[-1].sign].capitalize()} entity")
        return self.plain, self.entities

    def _one(self) -> None:
        char = self.source[self.at]
        after = self.source[self.at + 1 : self.at + 2]
        if char == "\\" and after and 0 < ord(after) <= 126:
            self._text(after, 2)
        elif self.open and self.open[-1].sign in ("`", "```"):
            self._in_code(char)
        elif char == "\n" and self.open and self.open[-1].sign == ">" and after != ">":
            self._close(self.open[-1])
            self._text(char, 1)
        elif char == ">" and (self.at == 0 or self.source[self.at - 1] == "\n"):
            self._quote()
        elif char == "[":
            self.open.append(_Open("[", len(self.plain)))
            self.at += 1
        elif char == "]" and self.open and self.open[-1].sign == "[":
            self._link()
        elif char in RESERVED:
            self._sign(char)
        else:
            self._text(char, 1)

    def _in_code(self, char: str) -> None:
        sign = self.open[-1].sign
        if self.source.startswith(sign, self.at):
            self._close(self.open[-1])
            self.at += len(sign)
        elif char == "`":
            self._fail("Character '`' is reserved and must be escaped with the preceding '\\'")
        else:
            self._text(char, 1)

    def _quote(self) -> None:
        if any(one.sign != ">" for one in self.open):
            self._fail("Character '>' is reserved and must be escaped with the preceding '\\'")
        if not self.open:
            self.open.append(_Open(">", len(self.plain)))
        self.at += 1

    def _sign(self, char: str) -> None:
        sign = next((sign for sign in SIGNS if self.source.startswith(sign, self.at)), None)
        if sign is None:
            self._fail(
                f"Character '{char}' is reserved and must be escaped with the preceding '\\'"
            )
            return
        if self.open and self.open[-1].sign == sign:
            self._close(self.open[-1])
            self.at += len(sign)
            return
        if any(one.sign == sign for one in self.open):
            self._fail(f"Can't find end of {NAMES[self.open[-1].sign].capitalize()} entity")
        opened = _Open(sign, len(self.plain))
        self.at += len(sign)
        if sign == "```":
            stop = self.at
            while stop < len(self.source) and self.source[stop] not in "\n `":
                stop += 1
            if self.source[stop : stop + 1] == "\n":
                opened.detail = self.source[self.at : stop]
                self.at = stop + 1
        self.open.append(opened)

    def _link(self) -> None:
        if not self.source.startswith("](", self.at):
            self._fail("Can't find end of a URL")
        self.at += 2
        url = []
        while self.at < len(self.source) and self.source[self.at] != ")":
            if self.source[self.at] == "\\":
                self.at += 1
            url.append(self.source[self.at : self.at + 1])
            self.at += 1
        if self.at >= len(self.source):
            self._fail("Can't find end of a URL")
        self.at += 1
        self.open[-1].detail = "".join(url)
        self._close(self.open[-1])

    def _close(self, one: _Open) -> None:
        self.open.remove(one)
        self.entities.append(Entity(NAMES[one.sign], self.plain[one.at :], one.detail))

    def _text(self, text: str, length: int) -> None:
        self.out.append(text)
        self.at += length

    def _fail(self, why: str) -> None:
        offset = len(self.source[: self.at].encode())
        raise CannotParse(f"Bad Request: can't parse entities: {why} at byte offset {offset}")


def parse_markdown_v2(source: str) -> tuple[str, list[Entity]]:
    """Return the visible text and its entities. Raise CannotParse."""
    return _Parser(source).parse()


_MENTION = re.compile(r"(?<![\w@/])@[A-Za-z]\w{3,31}\b")


def pinged(source: str, *, marked: bool = True) -> list[str]:
    """Return whom this text notifies: names behind an @ outside of code, and links to a person."""
    plain, entities = parse_markdown_v2(source) if marked else (source, [])
    for entity in entities:
        if entity.kind in ("code", "pre"):
            plain = plain.replace(entity.text, " ")
    links = [each.detail for each in entities if each.detail.lower().startswith("tg://user")]
    return [*_MENTION.findall(plain), *links]
