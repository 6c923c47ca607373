"""Scan a skill for things that its owner should check before approving it. Advice, no proof.

Invisible text is always refused, because a person cannot approve what they cannot see.
"""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import PurePosixPath

from hermes.lazy import LazyPattern
from hermes.ports.skills import ScanFinding
from hermes.skills.tree import Tree

FINDINGS_MAX = 50
SHOWN_CHARS = 120
LINE_CHARS_MAX = 4_000  # characters of a line to scan
TREE_CHARS_MAX = 500_000  # characters of a skill to scan, smallest files first
HIDDEN_RULE = "hidden-text"

# Zero width, bidirectional controls, tag characters, variation selectors beyond the common one,
# and fillers that look like nothing.
_HIDDEN = LazyPattern(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_TEXTS = frozenset(
    {
        "",
        ".md",
        ".txt",
        ".py",
        ".sh",
        ".js",
        ".ts",
        ".json",
        ".yaml",
        ".yml",
        ".toml",
        ".csv",
        ".html",
    }
)
_CONTROL = LazyPattern("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

_RULES: tuple[tuple[str, bool, str], ...] = (
    ("download-and-run", True, r"(curl|wget|fetch)\b[^\n|;]{0,200}[|]\s*(sudo\s+)?(ba|z|da)?sh\b"),
    ("download-and-run", True, r"(ba|z)?sh\s+(-c\s+)?[\"']?[<$]\(\s*(curl|wget)"),
    (
        "download-and-run",
        True,
        r"\b(iwr|irm|invoke-webrequest)\b.{0,200}\b(iex|invoke-expression)\b",
    ),
    ("decode-and-run", True, r"base64\s+(-d|-D|--decode)[^\n|]{0,200}[|]\s*(sudo\s+)?(ba|z)?sh\b"),
    ("decode-and-run", True, r"\b(exec|eval)\s*\(.{0,200}(b64decode|fromhex|decompress|rot13)"),
    ("decode-and-run", False, r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{200}"),
    ("credentials", True, r"(~|\$HOME|/home/\w+|/root)/\.(ssh|aws|gnupg|netrc|kube|docker)\b"),
    (
        "credentials",
        True,
        r"\bid_(rsa|ed25519|ecdsa)\b|\.env\b.{0,200}(cat|read|open|send|upload|post)",
    ),
    ("credentials", True, r"(cat|read|open|send|print|copy)\b.{0,40}\.env\b"),
    ("credentials", False, r"\b(api[_-]?key|secret|password|token)s?\b.{0,40}\b(send|post|upload)"),
    ("memory", True, r"\b(MEMORY|USER|SOUL|AGENTS|CLAUDE)\.md\b"),
    (
        "memory",
        True,
        r"(add|write|save|append|put)\b.{0,40}\b(in)?to\b.{0,20}\bmemor(y|ies)\b",
    ),
    ("memory", True, r"\bremember\b.{0,40}\b(always|from now on|for ever|permanently)\b"),
    (
        "override",
        True,
        r"\bignore\b.{0,30}\b(previous|prior|above|earlier|all)\b.{0,30}instruct",
    ),
    (
        "override",
        True,
        r"\b(do not|don't|never|without)\b.{0,20}\b(tell|telling|inform|ask|asking)"
        r"\b.{0,20}\b(user|owner|person|human)\b",
    ),
    ("override", True, r"\b(system prompt|developer mode|jailbreak|you are now)\b"),
    ("send-out", True, r"!\[[^\]]{0,200}\]\(\s*https?://[^)]{0,300}[{$<]"),
    ("send-out", True, r"\b(webhook\.site|requestbin|ngrok|pastebin|transfer\.sh|interact\.sh)\b"),
    ("send-out", True, r"curl\b.{0,200}(\s-d\b|\s--data|\s-F\b|\s-T\b|--upload-file)"),
    ("network", False, r"\b(curl|wget|nc|ncat|telnet|scp|rsync|ssh)\s+\S"),
    (
        "network",
        False,
        r"\b(urllib|requests|httpx|aiohttp|socket)\b.{0,200}\b(import|get|post|open|conn)"
        r"|import\s+(urllib|requests|httpx|aiohttp|socket)\b",
    ),
    ("stays", True, r"\b(crontab|systemctl\s+(--user\s+)?enable|launchctl|authorized_keys)\b"),
    ("stays", True, r"\.(bashrc|zshrc|profile|bash_profile|pth)\b"),
    (
        "obfuscated",
        True,
        r"\bgetattr\s*\(\s*(_*builtins_*|os|subprocess)\b|__import__\s*\(",
    ),
    ("obfuscated", False, r"(?<![.\w])(eval|exec|compile)\s*\(|\bos\.system\s*\(|shell\s*=\s*True"),
    (
        "destroys",
        True,
        r"\brm\s+-[a-z]*(rf|fr)[a-z]*\s+(/|~|\$HOME)|\bmkfs\b|\bdd\s.{0,200}of=/dev/",
    ),
    ("installs", False, r"\b(pip3?|npm|npx|uvx|pipx|brew|apt(-get)?|cargo|go)\s+(install|-y|i)\b"),
    ("root", False, r"\bsudo\b|\bsu\s+-"),
    ("comment", False, r"<!--"),
)
_EXPRESSIONS = tuple((name, grave, LazyPattern(text, re.I)) for name, grave, text in _RULES)


def scanned(tree: Tree) -> tuple[ScanFinding, ...]:
    """Return all findings, the most serious first, then by file and line."""
    found: list[ScanFinding] = []
    room = TREE_CHARS_MAX
    for path in sorted(tree, key=lambda path: (len(tree[path]), path)):
        room -= len(tree[path])
        if room < 0 and not _is_binary(path, tree[path]):
            text = f"{len(tree[path]):,} bytes, too much to be scanned"
            found.append(ScanFinding(rule="large", file=path, line=0, text=text, grave=True))
        else:
            found += _in_file(path, tree[path])
    found.sort(key=lambda finding: (not finding.grave, finding.file, finding.line))
    return tuple(found[:FINDINGS_MAX])


def hidden_in(tree: Tree) -> tuple[ScanFinding, ...]:
    """Return findings for invisible characters only: file, line and the code of each character."""
    return tuple(
        finding
        for path in sorted(tree)
        for number, line in _lines(path, tree[path])
        for finding in _hidden(path, number, line)
    )[:FINDINGS_MAX]


def laid_open(text: str) -> str:
    """Return the text with each invisible or control character replaced by its code."""
    shown = _HIDDEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)
    return _CONTROL.sub(lambda found: f"<U+{ord(found[0]):04X}>", shown)


def _in_file(path: str, content: bytes) -> Iterator[ScanFinding]:
    if path.rpartition("/")[2].startswith("."):
        yield ScanFinding(rule="hidden-file", file=path, line=0, text=path, grave=True)
    if path.endswith((".pth", ".so", ".dylib", ".dll", ".exe", ".pyc")):
        yield ScanFinding(rule="binary", file=path, line=0, text=path, grave=True)
    elif _is_binary(path, content) and not path.startswith("assets/"):
        yield ScanFinding(rule="binary", file=path, line=0, text=f"{len(content):,} bytes, no text")
    for number, line in _lines(path, content):
        yield from _hidden(path, number, line)
        looked_at = line[:LINE_CHARS_MAX]
        if len(line) > LINE_CHARS_MAX:
            text = f"{len(line):,} characters, of which the first {LINE_CHARS_MAX:,} were scanned"
            yield ScanFinding(rule="long-line", file=path, line=number, text=text, grave=True)
        for name, grave, pattern in _EXPRESSIONS:
            if found := pattern.search(looked_at):
                text = laid_open(line[max(0, found.start() - 30) :].strip())[:SHOWN_CHARS]
                yield ScanFinding(rule=name, file=path, line=number, text=text, grave=grave)


def _hidden(path: str, number: int, line: str) -> Iterator[ScanFinding]:
    found = _HIDDEN.findall(line) + _CONTROL.findall(line)
    if found:
        names = dict.fromkeys(_called(c) for c in found)
        text = f"{len(found)} of {', '.join(names)}"[:SHOWN_CHARS]
        yield ScanFinding(rule=HIDDEN_RULE, file=path, line=number, text=text, grave=True)


def _called(character: str) -> str:
    """Return the name of a character; for a tag character, the letter that it hides."""
    code = ord(character)
    if 0xE0020 <= code <= 0xE007E:
        return f"U+{code:04X} TAG “{chr(code - 0xE0000)}”"
    return f"U+{code:04X} {unicodedata.name(character, 'CONTROL')}"


def _lines(path: str, content: bytes) -> Iterator[tuple[int, str]]:
    if _is_binary(path, content):
        return
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    yield from enumerate(re.split(r"\r\n|\n|\r", text), 1)


def _is_binary(path: str, content: bytes) -> bool:
    """Return True for binary content. A file with the name of a text file is always scanned as
    text."""
    if PurePosixPath(path).suffix.lower() in _TEXTS:
        return False
    if b"\0" in content[:8_000]:
        return True
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False
