"""What "always" means for a shell command: its program, its options, its paths, and no more."""

import re

from hermes.core.grants import Template
from hermes.tools import shell_programs as programs
from hermes.tools.shell_paths import Place, Zone, absolute, is_trap, zone_of
from hermes.tools.shell_verdict import Judgement

SUBCOMMANDS = frozenset({"git", "apt", "systemctl", "gh", "kubectl", "helm", "terraform"})
# Where one word decides what is lost: these are asked about each time.
NOT_ALWAYS = frozenset({"dd", "chmod", "chown", "kill", "pkill", "killall", "curl", "wget", "scp"})
EXAMPLES = 3


def template_of(judged: Judgement, place: Place) -> Template | None:
    """None for interpreters, wrappers and everything that is not one plain program."""
    if not judged.argv:
        return None
    name, *words = judged.argv
    if name in programs.RUNNERS or name in programs.NEVER or name in NOT_ALWAYS:
        return None
    subcommand = ""
    if name in SUBCOMMANDS:
        if not words or words[0].startswith("-"):
            return None
        subcommand, words = words[0], words[1:]
    options, operands, paths = set[str](), list[str](), list[str]()
    for word in words:
        if word.startswith("-") and len(word) > 1:
            options.add(word)
        elif subcommand:
            operands.append(word)
        elif re.search(r"[*?\[\]]", word):
            return None
        else:
            full = absolute(word, place.cwd)
            if zone_of(word, place, place.cwd) is not Zone.WORK or full == place.root:
                return None
            if is_trap(word, place, place.cwd):
                return None
            paths.append(full)
    return Template(
        tool="terminal",
        program=name,
        subcommand=subcommand,
        options=frozenset(options),
        operands=tuple(operands),
        paths=tuple(paths),
    )


def examples(template: Template) -> tuple[str, ...]:
    """Other commands that it would cover, for the person who is about to say always."""
    base = [template.program, template.subcommand, *sorted(template.options), *template.operands]
    start = " ".join(word for word in base if word)
    inner = [f"{start} {path}/anything" for path in template.paths]
    fewer = [word for word in base if word and word not in template.options]
    less = [" ".join([*fewer, *template.paths])] if template.options else []
    both = [f"{start} {' '.join(template.paths)}".strip()]
    return tuple(dict.fromkeys([*both, *inner, *less]))[:EXAMPLES]
