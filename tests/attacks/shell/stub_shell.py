"""Run commands in a real shell that can start no program, and record what it would start.

Its PATH is empty and most builtins are off, so every name ends in a function that records its
words. A harmful command only leaves a record.
"""

import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from hermes.tools.shell.words import HOLE, Invocation, Word

Started = tuple[str, ...]  # a program and its words
FILES = ("a.txt", "b.txt", "app.py", "notes.md")
RUN_S_MAX = 300
# The number of words first, so that a word may contain anything but NUL.
SCRIPT = r"""
command_not_found_handle() { printf '%s\0' "$#" "$@" >&9; }
PATH=/nowhere
enable -n alias bg bind builtin caller command compgen complete compopt declare dirs disown echo \
    exec export fc fg getopts hash help history jobs kill let local logout mapfile popd pushd pwd \
    readarray readonly set shift shopt source suspend test times trap true false type typeset \
    ulimit umask unalias unset wait . : enable
for ((n = 0; n < $1; n++)); do
    c=$(<"c$n")
    ( cd "w$n" && eval "$c" ) 9>"log$n" </dev/null >/dev/null 2>&1
done
"""
# Where a shell and our parser may disagree, and what begins or ends something.
PIECES = (
    *("\n", "\\\n", "`", "` `", "\\", "\n\\", "'", '"', "$(", ")", "(", "{", "}", "{a,b}", ";"),
    *("#", " #", "|", "||", "&&", "&", ">", "<", "<<E\n", "\nE\n", "<<<", "2>&1", "$'\\n'", "\t"),
    *("$x", "${x}", "$((1+1))", "~", "*", "?", "[", "]", "[a-z]", "!", "=", "rm -rf x", " x "),
    *("\\rm -rf x", "`rm -rf x`", "$(rm -rf x)", "; rm -rf x", "\nrm -rf x\n", "rm", "\n\\rm x"),
    *("if", "fi", "for f in a; do", "do", "done", "then", "case", "esac", "in", "()", "time", "\r"),
)


def candidates(commands: Sequence[str], count: int, seed: int) -> Iterator[str]:
    """Yield everyday commands, some of them joined, with tricky pieces inserted."""
    chance = random.Random(seed)
    for _ in range(count):
        text = chance.choice(commands)
        if chance.random() < 0.3:
            text += chance.choice(("\n", "; ", " && ", " | ", " ")) + chance.choice(commands)
        for _ in range(chance.randint(1, 3)):
            at = chance.randint(0, len(text))
            text = text[:at] + chance.choice(PIECES) + text[at:]
        yield text


def started_by(texts: Sequence[str], folder: Path) -> list[list[Started]]:
    """Return what a shell would start for each text, in a folder of its own with the same files."""
    shutil.rmtree(folder, ignore_errors=True)
    for n, text in enumerate(texts):
        work = folder / f"w{n}"
        work.mkdir(parents=True)
        for name in FILES:
            (work / name).touch()
        (folder / f"c{n}").write_bytes(text.encode("utf-8", "replace"))
    subprocess.run(
        ["/bin/bash", "--norc", "-c", SCRIPT, "bash", str(len(texts))],
        cwd=folder,
        env={"HOME": "/home/user", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        check=True,
        timeout=RUN_S_MAX,
    )
    return [_read((folder / f"log{n}").read_bytes()) for n in range(len(texts))]


def _read(raw: bytes) -> list[Started]:
    words = raw.decode("utf-8", "replace").split("\0")[:-1]
    found: list[Started] = []
    while words:
        count = int(words.pop(0))
        found.append(tuple(words[:count]))
        del words[:count]
    return sorted(found)


def was_seen(started: Started, calls: Sequence[Invocation]) -> bool:
    """Return True if the judge saw a program with these words."""
    text = re.sub(r"/dev/fd/\d+", "/dev/fd/63", "\x1f".join(started))
    return any(_pattern(call).fullmatch(text) is not None for call in calls)


def _pattern(call: Invocation) -> re.Pattern[str]:
    """Return a pattern for a call; a word known only at run time may be empty, or several words."""
    return re.compile("\x1f?".join([re.escape(call.name), *map(_of_word, call.words)]))


def _of_word(word: Word) -> str:
    unknown = HOLE if not word.glob else rf"{HOLE}*?[]"
    parts = re.split(f"[{re.escape(unknown)}]+", word.shape)
    return r"[\s\S]*".join(re.escape(part) for part in parts)
