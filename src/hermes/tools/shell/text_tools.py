"""Check sed, awk, jq, man and archives: do they only turn text into text?"""

import re

from hermes.tools.shell.path_checker import PathChecker, short
from hermes.tools.shell.readers import STRICT_SHELL
from hermes.tools.shell.scripts import (
    awk_only_computes,
    jq_only_computes,
    sed_only_edits_text,
    sed_only_substitutes,
)
from hermes.tools.shell.words import Invocation, Word

SED_FLAGS = re.compile(r"-[nErs]+|--quiet|--silent|--regexp-extended")
JQ_FLAGS = re.compile(
    r"-[rcnesaSCMj]+|--raw-output|--compact-output|--tab|--sort-keys|--slurp|--null-input"
)
PAGE = re.compile(r"-[kf]|[A-Za-z0-9][A-Za-z0-9_.+:-]*", re.ASCII)
TAR_LISTS = re.compile(r"-?[zjJv]*t[zjJv]*f")


def judge_sed(call: Invocation, checker: PathChecker) -> None:
    in_place, scripts, files = False, list[Word](), list[Word]()
    waiting = list(call.words)
    while waiting:
        word = waiting.pop(0)
        if word.text in ("-e", "--expression") and waiting:
            scripts.append(waiting.pop(0))
        elif word.text in ("-i", "--in-place"):
            in_place = True
        elif word.text is None or not SED_FLAGS.fullmatch(word.text):
            if word.may_be_option:
                checker.reasons.ask(f"sed: {short(word.shape)} is not known to be safe")
            files.append(word)
    if not scripts:
        scripts, files = files[:1], files[1:]
    if not scripts or not all(s.text is not None and sed_only_edits_text(s.text) for s in scripts):
        checker.reasons.ask("sed: its script may do more than edit text")
    if in_place and not all(sed_only_substitutes(script.text or "") for script in scripts):
        checker.reasons.ask("sed: it may remove lines of a file, and nothing keeps them")
    for word in files:
        checker.path("write" if in_place else "read", word, "sed")


def judge_awk(call: Invocation, checker: PathChecker) -> None:
    waiting = list(call.words)
    while waiting and waiting[0].shape.startswith("-"):
        option = waiting.pop(0).text or ""
        if option in ("-F", "-v") and waiting:
            waiting.pop(0)
        elif not option.startswith(("-F", "-v")):
            checker.reasons.ask(f"awk: the option {short(option)} is not known to be safe")
    program = waiting.pop(0).text if waiting else None
    if program is None or not awk_only_computes(program):
        checker.reasons.ask("awk: its program may do more than compute")
    for word in waiting:
        if word.may_be_option:
            checker.reasons.ask("awk: one of its words may become an option")
        checker.path("read", word, "awk")


def judge_jq(call: Invocation, checker: PathChecker) -> None:
    waiting, filtered = list(call.words), False
    while waiting:
        word = waiting.pop(0)
        if JQ_FLAGS.fullmatch(word.text or ""):
            continue
        if word.text in ("--arg", "--argjson") and len(waiting) > 1:
            del waiting[:2]
        elif word.text == "--indent" and waiting:
            waiting.pop(0)
        elif word.may_be_option:
            checker.reasons.ask(f"jq: {short(word.shape)} is not known to be safe")
        elif filtered:
            checker.path("read", word, "jq")
        else:
            filtered = True
            if word.text is None or not jq_only_computes(word.text):
                checker.reasons.ask("jq: its filter may do more than compute")


def judge_listing(call: Invocation, checker: PathChecker) -> None:
    """An archive's table of contents."""
    option = call.words[0].text or "" if call.words else ""
    tar = call.name == "tar"
    lists = TAR_LISTS.fullmatch(option) is not None if tar else option in ("-l", "-v")
    remote = (
        tar and bool(call.words) and ":" in call.words[-1].shape
    )  # tar asks another machine for HOST:FILE
    if not lists or remote or len(call.words) != 2 or call.words[1].may_be_option:
        checker.reasons.ask(f"{call.name} is on the list of safe commands only for listing")
        for word in call.words:
            checker.refuse_secret(word)
        return
    checker.path("read", call.words[1], call.name)


def judge_man(call: Invocation, checker: PathChecker) -> None:
    """Pages by their names: an option may name a program, and a path a page of anybody's."""
    pages = [word.text or "/" for word in call.words]
    if not pages or not all(PAGE.fullmatch(page) for page in pages):
        checker.reasons.ask("`man` can run any code")
    for word in call.words:
        checker.refuse_secret(word)


def judge_set(call: Invocation, checker: PathChecker) -> None:
    if call.literal is None or " ".join(call.literal) not in STRICT_SHELL:
        checker.reasons.ask("`set` changes how the shell reads what follows")
