"""Read a platform's section: every key is checked, and an error names the fix.

`CommonSettings` are the keys that every chat platform has.
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
    """The format of this platform's ids, and how a person finds theirs. Names are not accepted,
    because they can move to another person."""

    pattern: re.Pattern[str]
    fix: str


class CommonSettings(Struct, frozen=True, kw_only=True):
    """The settings that every chat platform has."""

    allowed_users: frozenset[str] = frozenset()
    allowed_chats: frozenset[str] = frozenset()
    require_mention: bool = True  # in groups
    drafts: bool = True  # show the answer while it is written
    banner: bool = True  # say it when a stop interrupts work
    receipts: bool = True  # a small sign on a message that is stored

    def role(self, sender: Sender) -> Role:
        """Return the role by ids alone. A person named in the settings is an owner; a person in an
        allowed chat may talk there and nowhere else."""
        if sender.id in self.allowed_users:
            return Role.OWNER
        let_in = sender.address.chat in self.allowed_chats
        return Role.MEMBER if let_in else Role.STRANGER


class SectionReader:
    """Reads one mapping key by key. An empty value counts as missing. Raises Misconfigured."""

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
        """Read a list of ids; a single id need not be a list."""
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
