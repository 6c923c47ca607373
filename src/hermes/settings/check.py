"""Validate a tree of raw values against the settings; collect every problem.

An invalid key falls back to its default and is reported; the other keys still count.
"""

import math
import re
from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin

import msgspec
from msgspec import Meta
from msgspec.structs import FieldInfo, fields

from hermes.core.errors import Misconfigured
from hermes.settings.lines import line_of
from hermes.settings.shape import NOT_SET, Section, Settings, is_secret
from hermes.text.similar import likely

DEPTH_MAX = 20
SHOWN_MAX = 40
REFERENCE = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}")
_KINDS: Mapping[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
}


class Checker:
    """Validate one tree. `origins` names the environment variable of a value, if it came from one;
    `text` is the file that the other values came from."""

    def __init__(
        self, secrets: Mapping[str, str], origins: Mapping[str, str], text: str = ""
    ) -> None:
        self.problems: list[Misconfigured] = []
        self._text = text
        self._secrets = secrets
        self._origins = origins

    def settings(self, tree: Mapping[str, object]) -> Settings:
        values = self._values(Settings, tree, ())
        return Settings(**values, secrets=self._secrets)

    def _values(
        self, section: type[Section], tree: Mapping[str, object], path: tuple[str, ...]
    ) -> dict[str, Any]:
        known = {f.name: f for f in fields(section) if f.name not in NOT_SET}
        values: dict[str, Any] = {}
        for key, raw in tree.items():
            here = (*path, str(key))
            if key not in known:
                self._unknown(here, known)
            elif raw is not None:
                value = self._value(known[key], raw, here)
                values |= {} if value is None else {key: value}
        return values

    def _value(self, field: FieldInfo, raw: object, path: tuple[str, ...]) -> object:
        """Return the validated value for the field. Return None, and report the problem, if it is
        invalid."""
        if (section := _section(field.type)) is not None:
            if self._is_mapping(raw, path):
                return section(**self._values(section, raw, path))
            return None
        if (item := _items(field.type)) is not None:
            return self._listed(item, raw, path)
        if (each := _named(field.type)) is not None:
            return self._sections(each, raw, path)
        if path == ("platforms",):
            return self._platforms(raw, path)
        if field.type == Mapping[str, str] and isinstance(raw, Mapping):
            return self._texts(raw, path)
        return self._leaf(field, self._resolved(raw, path), path)

    def _listed(self, section: type[Section], raw: object, path: tuple[str, ...]) -> object:
        if not isinstance(raw, list | tuple):
            problem = f"{_shown(raw, path)} is not a list"
            fix = f"Write each entry on a line of its own that begins with “- ” below {path[-1]}:"
            self._report(path, problem, fix)
            return None
        found = []
        for n, each in enumerate(raw):
            here = (*path[:-1], f"{path[-1]}[{n}]")
            if self._is_mapping(each, here):
                found.append(section(**self._values(section, each, here)))
        return tuple(found)

    def _sections(self, section: type[Section], raw: object, path: tuple[str, ...]) -> object:
        """Validate a mapping of named sections. An invalid section leaves the others alone."""
        if not self._is_mapping(raw, path):
            return None
        found: dict[str, Section] = {}
        for name, inner in raw.items():
            here = (*path, str(name))
            if inner is not None and self._is_mapping(inner, here):
                found[str(name)] = section(**self._values(section, inner, here))
        return found

    def _platforms(self, raw: object, path: tuple[str, ...]) -> object:
        if not self._is_mapping(raw, path):
            return None
        platforms: dict[str, object] = {}
        for name, section in raw.items():
            here = (*path, str(name))
            if section is None or not self._is_mapping(section, here):
                continue
            enabled = section.get("enabled")
            if enabled is not None and not isinstance(enabled, bool):
                self._wrong((*here, "enabled"), enabled, bool, default=True)
                continue
            asked = dict(section) if enabled is False else self._resolved(section, here)
            platforms[str(name)] = asked
        return platforms

    def _texts(self, raw: Mapping[str, object], path: tuple[str, ...]) -> object:
        for key, value in raw.items():
            if not isinstance(value, str):
                self._wrong((*path, str(key)), value, str, default=None)
                return None
        return self._resolved(raw, path)

    def _leaf(self, field: FieldInfo, raw: object, path: tuple[str, ...]) -> object:
        try:
            value = msgspec.convert(raw, field.type, strict=True, builtin_types=())
        except msgspec.ValidationError:
            self._wrong(path, raw, field.type, default=field.default)
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self._wrong(path, raw, field.type, default=field.default)
            return None
        return value

    def _resolved(self, raw: object, path: tuple[str, ...], depth: int = 0) -> object:
        """Return the value with each ${NAME} replaced by that secret."""
        if isinstance(raw, str):
            return REFERENCE.sub(lambda found: self._secret(found.group(1), path), raw)
        if isinstance(raw, Mapping | list) and depth >= DEPTH_MAX:
            self._report(path[:3], "is nested too deeply", "Make it flatter")
            return None
        if isinstance(raw, list):
            return [self._resolved(each, path, depth + 1) for each in raw]
        if isinstance(raw, Mapping):
            return {str(k): self._resolved(v, (*path, str(k)), depth + 1) for k, v in raw.items()}
        return raw

    def _secret(self, name: str, path: tuple[str, ...]) -> str:
        value = self._secrets.get(name, "")
        if not value:
            fix = f"Run: hermes config set {name} -"
            self._report(path, f"needs the secret {name}, which is not set", fix)
        return value

    def _is_mapping(self, raw: object, path: tuple[str, ...]) -> TypeGuard[Mapping[str, object]]:
        if isinstance(raw, Mapping):
            return True
        problem = f"{_shown(raw, path)} is not a section of keys and values"
        self._report(path, problem, f"Write its keys below {path[-1]}:, each on its own line")
        return False

    def _unknown(self, path: tuple[str, ...], known: Iterable[str]) -> None:
        parent = ".".join(path[:-1])
        near = closest(path[-1], known)
        if near:
            fix = f"Did you mean {'.'.join((*path[:-1], near))}?"
        else:
            there = f"In {parent} there are" if parent else "The sections are"
            fix = f"{there}: {', '.join(known)}"
        below = next((key for key in self._origins if key.startswith(f"{path[-1]}.")), "")
        whole = tuple(below.split(".")) if below and not parent else path
        self._report(whole, "there is no such setting", fix)

    def _wrong(self, path: tuple[str, ...], raw: object, type_: object, *, default: object) -> None:
        wanted = expected(type_)
        key = ".".join(path)
        if wanted == "text":
            fix = f'Put it in quotes: {path[-1]}: "…"'
        elif default is msgspec.NODEFAULT or default is None or "[" in key:
            fix = f"Write {wanted}"
        else:
            fix = f"Run: hermes config set {key} {_word(default)}"
        self._report(path, f"{_shown(raw, path)} is not {wanted}", fix)

    def _report(self, path: tuple[str, ...], problem: str, fix: str) -> None:
        key = ".".join(path)
        if (variable := self._origin(path)) is not None:
            meant = f"{fix} " if fix.startswith("Did you mean") else ""
            key, fix = f"{variable} ({key})", f"{meant}Change or unset {variable}"
        elif (line := line_of(self._text, path)) is not None:
            problem = f"{problem} (config.yaml, line {line})"
        self.problems.append(Misconfigured(key, problem, fix))

    def _origin(self, path: tuple[str, ...]) -> str | None:
        names = [name.partition("[")[0] for name in path]
        for above in (".".join(names[: n + 1]) for n in range(len(names))):
            if above in self._origins:
                return self._origins[above]
        return None


def closest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is closest to this one; "" if none is close."""
    found = likely(word.lower(), known)
    return found[0] if found else ""


def expected(type_: object) -> str:
    """Describe in words what this type accepts."""
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is Annotated:
        told = next((m.description for m in arguments[1:] if isinstance(m, Meta)), None)
        return told or expected(arguments[0])
    if origin in (Union, UnionType):
        return " or ".join(expected(each) for each in arguments if each is not NoneType)
    if origin is Literal:
        return ("one of " if len(arguments) > 1 else "") + ", ".join(map(str, arguments))
    return _KINDS.get(type_, "a section of keys and texts")


def is_text_at(path: tuple[str, ...]) -> bool:
    """Return True if the setting at this path is text, whatever the value looks like."""
    type_ = type_at(path)
    if get_origin(type_) is Annotated:
        type_ = get_args(type_)[0]
    return type_ in (str, str | None)


def type_at(path: tuple[str, ...]) -> object:
    """Return the type of the setting at a path: `object` below free keys, None for no setting."""
    here: object = Settings
    for name in path:
        if (section := _section(here)) is not None:
            here = {f.name: f.type for f in fields(section) if f.name not in NOT_SET}.get(name)
        elif get_origin(here) in (Mapping, dict):
            here = get_args(here)[1]
        elif here is not object:
            return None
    return here


def _section(type_: object) -> type[Section] | None:
    return type_ if isinstance(type_, type) and issubclass(type_, Section) else None


def _named(type_: object) -> type[Section] | None:
    return _section(get_args(type_)[1]) if get_origin(type_) is Mapping else None


def _items(type_: object) -> type[Section] | None:
    return _section(get_args(type_)[0]) if get_origin(type_) is tuple else None


def _shown(raw: object, path: tuple[str, ...]) -> str:
    if is_secret(path):
        return "its value"
    if isinstance(raw, Mapping | list):
        return "a list" if isinstance(raw, list) else "a section"
    text = " ".join(_word(raw).split())
    return f"“{text[:SHOWN_MAX]}{'…' if len(text) > SHOWN_MAX else ''}”"


def _word(value: object) -> str:
    """Return a value as it is written in the file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
