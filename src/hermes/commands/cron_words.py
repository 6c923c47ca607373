"""Read the words of `/cron`: options as in a terminal, and the rest as people type it."""

import re
from collections.abc import Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from hermes.core.errors import Rejected
from hermes.views.jobs import JobRequest
from hermes.views.schedule_text import read_span

# Options with a value: the field of a request, and an example of what may follow.
VALUES = {
    "schedule": ("schedule", '"every weekday at 07:00"'),
    "prompt": ("prompt", '"look at my inbox"'),
    "name": ("name", "inbox"),
    "deliver": ("deliver", "origin, home, telegram:12345, local, none or all"),
    "tz": ("tz", "Europe/Paris"),
    "model": ("model", "openrouter:some-model"),
    "skill": ("skills", "daily-brief"),
    "toolset": ("toolsets", "web"),
    "workdir": ("workdir", "/srv/reports"),
    "script": ("script", "check.sh"),
    "context-from": ("context_from", "another-job"),
    "repeat": ("repeat", "5"),
    "missed": ("missed", "once, all or skip"),
    "overlap": ("overlap", "skip or queue"),
    "budget": ("tokens_max", "50000"),
    "timeout": ("timeout_s", "10m"),
}
LISTS = frozenset({"deliver", "skill", "toolset", "context-from"})
FLAGS = frozenset({"no-agent", "dry-run", "all"})
_WORD = re.compile(r'(?P<option>(?:--|[—\u2013])(?P<name>[a-z][a-z-]*)=?)?("[^"]*"|“[^”]*”|\S*)')
_VALUE = re.compile(r'\s*("[^"]*"|“[^”]*”|\S+)')


class CronWords(Struct, frozen=True):
    """Options, and the text that is left without them."""

    rest: str
    values: Mapping[str, tuple[str, ...]]
    flags: frozenset[str]


def read_words(text: str) -> CronWords:
    """Separate options from text. Text in quotation marks has none. Phones write one long dash for
    two short ones, so that counts too."""
    rest: list[str] = []
    values: dict[str, list[str]] = {}
    flags: set[str] = set()
    position = 0
    while position < len(text):
        if text[position].isspace():
            rest.append(text[position])
            position += 1
            continue
        found = _WORD.match(text, position)
        assert found is not None
        name = found["name"]
        if name is None:
            rest.append(found[0])
            position = found.end()
        elif name in FLAGS:
            flags.add(name)
            position = found.end("option")
        else:
            value = _VALUE.match(text, found.end("option"))
            if name not in VALUES:
                raise Rejected(f"I don't know --{name}. If it belongs to the task, quote the task")
            if value is None:
                raise _wrong(name)
            values.setdefault(name, []).append(unquoted(value[1]))
            position = value.end()
    kept = {name: tuple(all_) for name, all_ in values.items()}
    return CronWords("".join(rest).strip(), kept, frozenset(flags))


def request_of(words: CronWords) -> JobRequest:
    """Return what the options ask for. Raise Rejected with the option and the fix."""
    wanted = JobRequest(no_agent=True if "no-agent" in words.flags else None)
    for name, given in words.values.items():
        field, _ = VALUES[name]
        value: object = given[-1]
        if name in LISTS:
            value = [part.strip() for each in given for part in each.split(",") if part.strip()]
        if name == "timeout":
            value = read_span(given[-1]) or given[-1]
        try:
            one = msgspec.convert({field: value}, JobRequest, strict=False)
        except msgspec.ValidationError:
            raise _wrong(name) from None
        wanted = merged(wanted, one)
    return wanted


def merged(one: JobRequest, other: JobRequest) -> JobRequest:
    """Return the first request with what the second one says in addition."""
    said = {name: value for name, value in asdict(other).items() if value is not None}
    return replace(one, **said)


def unquoted(text: str) -> str:
    pairs = (('"', '"'), ("“", "”"), ("'", "'"))
    whole = any(len(text) > 1 and text[0] == a and text[-1] == b for a, b in pairs)
    return text[1:-1].strip() if whole else text


def quoted_first(text: str) -> tuple[str, str] | None:
    """Return the text in quotation marks at the beginning, and what follows; None without it."""
    found = re.match(r'"([^"]*)"|“([^”]*)”', text)
    if found is None:
        return None
    return (found[1] or found[2] or "").strip(), unquoted(text[found.end() :].strip())


def _wrong(name: str) -> Rejected:
    return Rejected(f"--{name} needs a value, for example: --{name} {VALUES[name][1]}")
