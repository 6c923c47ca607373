"""A platform's section as values: every key is checked, what is wrong is named with its fix.

The keys that every chat platform has are read here, once: `CommonSettings`.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from msgspec import Struct

from hermes.core.errors import Misconfigured
from hermes.core.people import Role, Sender
from hermes.text.similar import likely

COMMON_KEYS: Final = (
    *("enabled", "allowed_users", "allowed_chats", "require_mention"),
    *("drafts", "banner", "receipts"),
)
_T = TypeVar("_T")


class IdForm(Struct, frozen=True):
    """What an id of this platform looks like, and how a person finds it. Never a name: names
    change hands."""

    pattern: re.Pattern[str]
    fix: str


class CommonSettings(Struct, frozen=True, kw_only=True):
    """What every chat platform lets its owner choose."""

    allowed_users: frozenset[str] = frozenset()
    allowed_chats: frozenset[str] = frozenset()
    require_mention: bool = True  # in groups
    drafts: bool = True  # show the answer while it is written
    banner: bool = True  # say it when a stop interrupts work
    receipts: bool = True  # a small sign on a message that is stored

    def role(self, sender: Sender) -> Role:
        """By ids alone. A person who is named in the settings is an owner; a person who is let in
        by a chat may talk there, and nowhere else."""
        if sender.id in self.allowed_users:
            return Role.OWNER
        let_in = sender.address.chat in self.allowed_chats
        return Role.MEMBER if let_in else Role.STRANGER


class SectionReader:
    """One mapping, read key by key. An empty value counts as none. Raises Misconfigured."""

    def __init__(self, raw: Mapping[str, object], at: str, keys: tuple[str, ...]) -> None:
        self._raw, self._at = raw, at
        for key in raw:
            if key not in keys:
                near = likely(str(key), keys)
                known = f"Known settings: {', '.join(keys)}"
                fix = f"Did you mean {at}.{near[0]}?" if near else known
                raise Misconfigured(f"{at}.{key}", "there is no such setting", fix)

    def common(self, ids: IdForm) -> CommonSettings:
        self.flag("enabled", default=True)
        return CommonSettings(
            allowed_users=self.ids("allowed_users", ids),
            allowed_chats=self.ids("allowed_chats", ids),
            require_mention=self.flag("require_mention", default=True),
            drafts=self.flag("drafts", default=True),
            banner=self.flag("banner", default=True),
            receipts=self.flag("receipts", default=True),
        )

    def wrong(self, key: str, problem: str, fix: str) -> Misconfigured:
        return Misconfigured(f"{self._at}.{key}", problem, fix)

    def text(self, key: str, default: str = "") -> str:
        given = self._value(key, default, lambda v: v if isinstance(v, str) else None, "text")
        return given.strip() or default

    def flag(self, key: str, *, default: bool) -> bool:
        wanted = "true or false"
        return self._value(key, default, lambda v: v if isinstance(v, bool) else None, wanted)

    def number(self, key: str, default: float, *, least: float, most: float) -> float:
        def read(given: object) -> float | None:
            if isinstance(given, bool) or not isinstance(given, int | float):
                return None
            return float(given) if least <= given <= most else None

        return self._value(key, default, read, f"a number from {least:g} to {most:g}")

    def one_of(self, key: str, choices: tuple[str, ...], default: str) -> str:
        wanted = f"one of {', '.join(choices)}"
        return self._value(key, default, lambda v: str(v) if v in choices else None, wanted)

    def ids(self, key: str, form: IdForm) -> frozenset[str]:
        """A list of ids; one alone need not be a list."""
        given = self._raw.get(key)
        listed = given if isinstance(given, list | tuple) else [] if given is None else [given]
        found = set()
        for one in listed:
            written = isinstance(one, int | str) and not isinstance(one, bool)
            id_ = str(one).strip() if written else ""
            if not form.pattern.fullmatch(id_):
                problem = "an entry is not an id" if id_ else "it is not a list of ids"
                raise self.wrong(key, problem, form.fix)
            found.add(id_)
        return frozenset(found)

    def section(self, key: str, keys: tuple[str, ...]) -> "SectionReader":
        given = self._raw.get(key) or {}
        if not isinstance(given, Mapping):
            raise self.wrong(key, "it is not a section", f"Write {key}: {{{keys[0]}: …}}")
        return SectionReader(given, f"{self._at}.{key}", keys)

    def _value(self, key: str, default: _T, read: Callable[[object], _T | None], wanted: str) -> _T:
        given = self._raw.get(key)
        if given is None:
            return default
        value = read(given)
        if value is None:
            raise self.wrong(key, f"it is not {wanted}", f"Write {wanted}")
        return value
