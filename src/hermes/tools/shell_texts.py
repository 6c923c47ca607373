"""sed, awk, jq and archives: what of them turns text into text, and opens only what it is given."""

import re

from hermes.tools.shell_reach import Reach, short
from hermes.tools.shell_scripts import awk_only_computes, jq_only_computes, sed_only_edits_text
from hermes.tools.shell_words import Call, Word

SED_FLAGS = re.compile(r"-[nErs]+|--quiet|--silent|--regexp-extended")
JQ_FLAGS = re.compile(
    r"-[rcnesaSCMj]+|--raw-output|--compact-output|--tab|--sort-keys|--slurp|--null-input"
)
TAR_LISTS = re.compile(r"-?[zjJv]*t[zjJv]*f")


def judge_sed(call: Call, reach: Reach) -> None:
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
                reach.reasons.ask(f"sed: {short(word.shape)} is not known to be harmless")
            files.append(word)
    if not scripts:
        scripts, files = files[:1], files[1:]
    if not scripts or not all(s.text is not None and sed_only_edits_text(s.text) for s in scripts):
        reach.reasons.ask("sed: its script may do more than edit text")
    for word in files:
        reach.path("write" if in_place else "read", word, "sed")


def judge_awk(call: Call, reach: Reach) -> None:
    waiting = list(call.words)
    while waiting and waiting[0].shape.startswith("-"):
        option = waiting.pop(0).text or ""
        if option in ("-F", "-v") and waiting:
            waiting.pop(0)
        elif not option.startswith(("-F", "-v")):
            reach.reasons.ask(f"awk: the option {short(option)} is not known to be harmless")
    program = waiting.pop(0).text if waiting else None
    if program is None or not awk_only_computes(program):
        reach.reasons.ask("awk: its program may do more than compute")
    for word in waiting:
        if word.may_be_option:
            reach.reasons.ask("awk: a word that may become an option")
        reach.path("read", word, "awk")


def judge_jq(call: Call, reach: Reach) -> None:
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
            reach.reasons.ask(f"jq: {short(word.shape)} is not known to be harmless")
        elif filtered:
            reach.path("read", word, "jq")
        else:
            filtered = True
            if word.text is None or not jq_only_computes(word.text):
                reach.reasons.ask("jq: its filter may do more than compute")


def judge_listing(call: Call, reach: Reach) -> None:
    """An archive's table of contents."""
    option = call.words[0].text or "" if call.words else ""
    tar = call.name == "tar"
    lists = TAR_LISTS.fullmatch(option) is not None if tar else option in ("-l", "-v")
    remote = tar and ":" in call.words[-1].shape  # tar asks another machine for HOST:FILE
    if not lists or remote or len(call.words) != 2 or call.words[1].may_be_option:
        reach.reasons.ask(f"{call.name} is only known to be harmless when it lists")
        for word in call.words:
            reach.refuse_secret(word)
        return
    reach.path("read", call.words[1], call.name)
