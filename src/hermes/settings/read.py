"""Read all sources of settings in order of precedence and validate them together."""

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from hermes.core.errors import Misconfigured
from hermes.settings.check import Checker
from hermes.settings.home import CONFIG, SECRETS
from hermes.settings.shape import Settings
from hermes.settings.sources import (
    close_to_others,
    merged,
    overrides,
    read_config,
    read_secrets,
    read_text,
)


def load(home: Path, environ: Mapping[str, str]) -> Settings:
    """Return defaults, overridden by config.yaml, .env and the environment in turn. Raise the first
    problem."""
    settings, problems = survey(home, environ)
    if problems:
        raise problems[0]
    return settings


def survey(home: Path, environ: Mapping[str, str]) -> tuple[Settings, tuple[Misconfigured, ...]]:
    """Return all settings that can be read, and all problems."""
    problems: list[Misconfigured] = []
    notice = close_to_others(home / SECRETS)
    stored: dict[str, str] = {}
    tree: Mapping[str, object] = {}
    try:
        stored, problems = read_secrets(home / SECRETS)
    except Misconfigured as unreadable:
        problems.append(unreadable)
    try:
        tree = read_config(home / CONFIG)
    except Misconfigured as broken:
        problems.append(broken)
    secrets = {**stored, **environ}
    above, origins = overrides(secrets)
    checker = Checker(secrets, origins, read_text(home / CONFIG) if tree else "")
    settings = checker.settings(merged(tree, above))
    if notice:
        settings = replace(settings, notices=(notice,))
    return settings, (*problems, *checker.problems)
