"""Read the sources of settings into plain values: config.yaml, .env and the environment."""

import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from hermes.core.errors import Misconfigured
from hermes.lazy import LazyPattern
from hermes.settings.check import is_text_at
from hermes.settings.shape import is_secret

BYTES_MAX = 1_000_000
DEPTH_MAX = 100
_NESTING = LazyPattern(rf"[\[\]{{}}]|(?:[-?:][ \t]+){{{DEPTH_MAX}}}")
PREFIX = "HERMES_"
_NAME = LazyPattern(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_QUOTED = LazyPattern(r"""'([^']*)'\s*(?:#.*)?|"((?:[^"\\]|\\.)*)"\s*(?:#.*)?""")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_MARK = LazyPattern(r"line (\d+), column (\d+)")
_WHOLE, _FRACTION = LazyPattern(r"[-+]?(0|[1-9]\d*)"), LazyPattern(r"[-+]?\d+\.\d*([eE][-+]?\d+)?")
_EDIT = "Run: hermes config edit"
_WORDS: Mapping[str, object] = {"true": True, "false": False, "null": None, "~": None, "": None}


def read_text(path: Path) -> str:
    """Return the file's text; "" if it does not exist. Raise Misconfigured if it cannot be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(BYTES_MAX + 1)
        if len(raw) > BYTES_MAX:
            raise Misconfigured(str(path), "is larger than 1 MB", "Shorten it")
        return raw.decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as refused:
        problem = f"cannot be read ({refused.strerror})"
        raise Misconfigured(str(path), problem, f"Run: ls -l {path}") from refused
    except UnicodeDecodeError as broken:
        problem = f"is not UTF-8 text at byte {broken.start}"
        raise Misconfigured(str(path), problem, "Save it as UTF-8") from broken


def read_config(path: Path) -> Mapping[str, object]:
    """Parse the file into plain values. Raise Misconfigured with the line of the problem."""
    text = read_text(path)
    if not text.strip():
        return {}
    try:
        tree: object = decoded(text)
    except (msgspec.DecodeError, ValueError, RecursionError) as broken:
        raise Misconfigured(str(path), _yaml_problem(str(broken)), _EDIT) from broken
    if tree is None:
        return {}
    if not isinstance(tree, Mapping):
        raise Misconfigured(str(path), "is not a file of `section:` lines", _EDIT)
    for line, key in repeated(text):
        raise Misconfigured(key, f"is in {path.name} twice, again in line {line}", _EDIT)
    return tree


def decoded(text: str) -> object:
    """Parse YAML into plain values. Raise ValueError for nesting so deep that it would crash the C
    parser."""
    depth = 0
    for sign in _NESTING.findall(text):
        depth = depth + 1 if sign in "[{" else max(0, depth - 1)
        if depth > DEPTH_MAX or len(sign) > 1:
            raise ValueError("it is nested too deeply")
    return msgspec.yaml.decode(text)


def repeated(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and name of duplicate keys in the first two levels; YAML would silently use
    the last one."""
    seen: set[str] = set()
    section, indent = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        found = re.match(r"( *)([A-Za-z_][\w-]*) *:(?: |$)", line)
        if found is None:
            continue
        depth, name = len(found[1]), found[2]
        if depth == 0:
            section, indent, key = name, 0, name
        elif depth == (indent or depth):
            indent, key = depth, f"{section}.{name}"
        else:
            continue
        if key in seen:
            yield number, key
        seen.add(key)


def read_secrets(path: Path) -> tuple[dict[str, str], list[Misconfigured]]:
    """Parse KEY=VALUE lines. Report an invalid line, and still return the others."""
    values: dict[str, str] = {}
    problems: list[Misconfigured] = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _NAME.fullmatch(line.strip())
        value = _unquoted(found[2]) if found else None
        if found is None or value is None:
            what = "has a quote that does not end" if found else "is not NAME=VALUE"
            problems.append(Misconfigured(f"{path}, line {number}", what, "Edit that line"))
        else:
            values[found[1]] = value
    return values, problems


def close_to_others(path: Path) -> str:
    """Make a file of secrets readable by its owner only. Return a notice if that was needed."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if not mode & 0o077:
            return ""
        path.chmod(0o600)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as refused:
        return f"{path} can be read by others and could not be closed ({refused.strerror})"
    return f"{path} could be read by others (mode {mode:04o}); only you can read it now"


def overrides(environ: Mapping[str, str]) -> tuple[dict[str, object], dict[str, str]]:
    """Parse HERMES_SECTION__KEY variables into a tree; also return which variable set each path."""
    tree: dict[str, object] = {}
    origins: dict[str, str] = {}
    for variable in sorted(environ):
        name = variable.removeprefix(PREFIX)
        if name == variable or "__" not in name.strip("_"):
            continue
        path = tuple(name.lower().split("__"))
        origins[".".join(path)] = variable
        node = tree
        for part in path[:-1]:
            deeper = node.setdefault(part, {})
            if not isinstance(deeper, dict):
                deeper = node[part] = {}
            node = deeper
        node[path[-1]] = value_at(path, environ[variable])
    return tree, origins


def value_at(path: tuple[str, ...], text: str) -> object:
    """Parse text from a command line or a variable for the setting at this path."""
    return text if is_text_at(path) or is_secret(path) else scalar(text)


def scalar(text: str) -> object:
    """Parse a scalar like YAML, without its surprises: `off` and `010` stay text."""
    word = text.strip()
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    if _WHOLE.fullmatch(word):
        return int(word)
    if _FRACTION.fullmatch(word):
        return float(word)
    if word[0] in "[{":
        try:
            return decoded(word)
        except msgspec.DecodeError:
            return text
    return text


def merged(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """Merge two trees; `above` overrides `below`."""
    tree = dict(below)
    for key, value in above.items():
        under = tree.get(key)
        if isinstance(under, Mapping) and isinstance(value, Mapping):
            tree[key] = merged(under, value)
        else:
            tree[key] = value
    return tree


def _yaml_problem(message: str) -> str:
    """Return the parser's message as one line: the last position it names, and the problem."""
    marks = _MARK.compiled.findall(message)
    said = [line.strip() for line in message.splitlines() if not line.lstrip().startswith("in ")]
    where = f" at line {marks[-1][0]}, column {marks[-1][1]}" if marks else ""
    what = re.sub(r", line \d+, column \d+", "", said[-1]) if said else ""
    return f"is not valid YAML{where} ({what})"


def _unquoted(text: str) -> str | None:
    """Return the value of a NAME=VALUE line; None if a quote is not closed."""
    if text[:1] in ("'", '"'):
        found = _QUOTED.fullmatch(text)
        if found is None:
            return None
        plain, escaped = found.groups()
        if plain is not None:
            return str(plain)
        return re.sub(r"\\(.)", lambda m: _ESCAPED.get(m[1], m[1]), escaped)
    return re.split(r"\s+#", text, maxsplit=1)[0].strip()
