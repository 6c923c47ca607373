#!/usr/bin/env python3
"""List the commits between two versions of a git repository, grouped by what they are about."""

import argparse
import re
import subprocess
import sys
from typing import TextIO

COMMITS_MAX = 2_000
PREFIX = re.compile(r"(?P<kind>[\w./-]+)(\([^)]*\))?(?P<breaking>!)?: (?P<text>.+)")
FIXED = re.compile(r"\b(fix|fixes|fixed|bug|crash|regression|wrong)\b", re.I)


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)  # noqa: S607
    if done.returncode:
        raise SystemExit(done.stderr.strip() or "git failed")
    return done.stdout


def latest_tag(until: str) -> str:
    words = ["git", "describe", "--tags", "--abbrev=0", f"{until}^"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def heading(subject: str, body: str) -> str:
    found = PREFIX.match(subject)
    if "BREAKING CHANGE" in body or (found and found["breaking"]):
        return "! breaking"
    if found:
        return found["kind"].lower()
    return "fixed" if FIXED.search(subject) else "other"


def main(words: list[str], stdout: TextIO) -> int:
    parser = argparse.ArgumentParser(description="List commits by what they are about.")
    parser.add_argument("--since", default="", help="a tag or commit; default: the latest tag")
    parser.add_argument("--until", default="HEAD")
    given = parser.parse_args(words)
    if given.since.startswith("-") or given.until.startswith("-"):
        parser.error("a version does not begin with a dash")
    since = given.since or latest_tag(given.until)
    span = f"{since}..{given.until}" if since else given.until
    form = "%h%x1f%s%x1f%b%x1e"
    text = git("log", "--no-merges", f"-n{COMMITS_MAX}", f"--format={form}", span, "--")
    groups: dict[str, list[str]] = {}
    for record in filter(None, (part.strip("\n") for part in text.split("\x1e"))):
        digest, subject, body = record.split("\x1f", 2)
        groups.setdefault(heading(subject, body), []).append(f"{digest} {subject}")
    count = sum(map(len, groups.values()))
    stdout.write(f"{count} commits in {span}\n")
    for name in sorted(groups):
        stdout.write(f"\n{name}\n")
        stdout.writelines(f"  {line}\n" for line in groups[name])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdout))
