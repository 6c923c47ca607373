"""Check a value for a key before hermes config set writes anything."""

import asyncio
import re
from collections.abc import Mapping, Sequence

from hermes.app.platforms import (
    ChannelPlugin,
    SetupCheck,
    SetupQuestion,
    platform_names,
    secret_named,
    section_problem,
    setup_check,
)
from hermes.cli.config.tree import unknown_setting
from hermes.cli.context import CliContext
from hermes.core.errors import Misconfigured
from hermes.settings import Settings, survey
from hermes.settings.check import Checker, closest, type_at
from hermes.settings.home import CONFIG
from hermes.settings.sources import PREFIX, merged, read_config, value_at

HERE = "local"  # the terminal, where tools are switched by platform


def demand(key: str, value: str) -> None:
    """Raise Misconfigured for a secret without a value."""
    if not value:
        raise Misconfigured(key, "the value is empty, so nothing was changed", "Give a value")


def check_value(context: CliContext, path: tuple[str, ...], value: object) -> None:
    """Raise Misconfigured when this value is wrong; other wrong settings are ignored."""
    tree: object = value
    for name in reversed(path):
        tree = {name: tree}
    settings, _problems = survey(context.home, context.environ)
    checker = Checker(settings.secrets, {})
    if isinstance(tree, dict):
        checker.settings(tree)
    if checker.problems:
        raise checker.problems[0]
    _check_platform(settings, path, value)
    node: object = read_config(context.home / CONFIG)
    for depth, name in enumerate(path[:-1], start=1):
        node = node.get(name) if isinstance(node, dict) else None
        if node is not None and not isinstance(node, dict):
            parent = ".".join(path[:depth])
            raise Misconfigured(
                parent, "is not a section of config.yaml", "Run: hermes config edit"
            )


def _check_platform(settings: Settings, path: tuple[str, ...], value: object) -> None:
    """Check the section with the platform's own code. Raise Misconfigured. Removing an unknown key
    is always allowed."""
    if value is None:
        return
    if path[:2] == ("tools", "platforms"):
        _check_name(path[:2], path[2], (*platform_names(), HERE))
        return
    if path[0] != "platforms":
        return
    name, raw = path[1], value
    _check_name(path[:1], name, platform_names())
    for part in reversed(path[2:]):
        raw = {part: raw}
    if not isinstance(raw, dict):
        raise Misconfigured(".".join(path), "is a whole section", "Set one of its keys")
    problem = section_problem(name, merged(settings.platforms.get(name, {}), raw), settings.secrets)
    if problem is not None and f"{problem.key}.".startswith(".".join((*path, ""))):
        raise problem


def _check_name(section: tuple[str, ...], name: str, known: Sequence[str]) -> None:
    if name not in known:
        near = closest(name, known)
        meant = f"Did you mean {'.'.join((*section, near))}?" if near else ""
        fix = meant or f"Choose one of: {', '.join(known)}"
        raise Misconfigured(".".join((*section, name)), "there is no such platform", fix)


def check_secret(context: CliContext, name: str, value: str) -> None:
    """Raise Misconfigured for a value that cannot be right."""
    demand(name, value)
    found = secret_named(name)
    if found is not None:
        check_platform_secret(context, *found, value)
    elif name.startswith(PREFIX) and "__" in name.removeprefix(PREFIX).strip("_"):
        path = tuple(name.removeprefix(PREFIX).lower().split("__"))
        if type_at(path) is None:
            raise unknown_setting(path)
        check_value(context, path, value_at(path, value))


def check_platform_secret(
    context: CliContext,
    plugin: ChannelPlugin,
    question: SetupQuestion,
    value: str,
    given: Mapping[str, object] | None = None,
) -> None:
    """By its form, and by asking the platform who it is. `given` is what will be set in its section
    as well. Raises Misconfigured."""
    if malformed(question, value):
        raise Misconfigured(question.key, f"it {question.malformed}", question.fix)
    if not question.checked:
        problem = section_problem(plugin.name, given or {}, {question.key: value})
        if problem is not None and problem.key in secret_places(plugin, question):
            raise problem
        return
    checked = asked_platform(context, plugin, question, value, given)
    if checked.ok is False:
        raise Misconfigured(question.key, checked.said, question.fix)
    context.console.tell(f"This is {checked.name}." if checked.name else checked.said)


def malformed(question: SetupQuestion, value: str) -> bool:
    return bool(question.form) and re.fullmatch(question.form, value) is None


def secret_places(plugin: ChannelPlugin, question: SetupQuestion) -> tuple[str, str]:
    """What a problem with this secret is called."""
    return question.key, f"platforms.{plugin.name}.{question.in_section or question.key}"


def asked_platform(
    context: CliContext,
    plugin: ChannelPlugin,
    question: SetupQuestion,
    value: str,
    given: Mapping[str, object] | None = None,
) -> SetupCheck:
    """What the platform says to this secret; where it could not be asked, what to say of that."""
    settings, _problems = survey(context.home, context.environ)
    section = {**settings.platforms.get(plugin.name, {}), **(given or {})}
    section.pop(question.in_section, None)  # it would win
    known, what = {**settings.secrets, question.key: value}, question.noun or "answer"
    try:
        found = asyncio.run(setup_check(plugin.name, section, known))
    except Misconfigured as problem:
        if problem.key in secret_places(plugin, question):
            return SetupCheck(ok=False, said=str(problem))
        return SetupCheck(ok=None, said=f"The {what} was not checked. First: {problem}")
    if found.ok is None:
        name = plugin.title[:1].upper() + plugin.title[1:]
        said = f"{name} cannot be reached now, so the {what} was not checked."
        return SetupCheck(ok=None, said=said)
    return found
