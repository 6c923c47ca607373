"""A command as a person must see it before saying yes: all of it, and what it would really start.

Its files are held by their digests, so that what runs later is what was shown.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from hermes.core.ports import Presented
from hermes.tools.shell_bound import PATH, Held, program, scripts
from hermes.tools.shell_verdict import Judgement
from hermes.tools.shell_words import Call
from hermes.views.honest import both_ends, honest

HEAD_CHARS, TAIL_CHARS = 1_500, 500
PROGRAMS_MAX = 30


def shown(
    command: str, judged: Judgement, cwd: Path, *, folders: Sequence[str] = PATH
) -> Presented:
    programs: list[str] = []
    held: list[Held] = []
    for call in judged.calls[:PROGRAMS_MAX]:
        words = [word.text for word in call.words if word.text is not None]
        try:
            found = program(call.name or call.spelled, cwd, folders)
            held += [*([found] if found is not None else ()), *scripts(words, cwd)]
        except (OSError, ValueError):
            found = None
        programs.append(honest(found.path if found is not None else call.name) or _odd(call))
    notes = [f"in {honest(str(cwd))}"]
    if programs:
        notes.append(f"it starts {', '.join(dict.fromkeys(programs))}")
    notes += [f"with {honest(each.path)} as it is now" for each in held if _is_script(each, cwd)]
    return Presented(
        text=both_ends(command, HEAD_CHARS, TAIL_CHARS),
        notes=tuple(dict.fromkeys(notes)),
        bound=msgspec.json.encode([str(cwd), held]).decode(),
    )


def _is_script(held: Held, cwd: Path) -> bool:
    return Path(held.path).is_relative_to(cwd)


def _odd(call: Call) -> str:
    return f"{honest(call.spelled)[:40]} (known only when it runs)".lstrip()
