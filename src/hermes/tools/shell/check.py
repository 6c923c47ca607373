"""Judge a command as the disk is now: a file that would lose its content is a reason to ask.

`judge` is pure; this is what decides.
"""

from pathlib import Path

from msgspec.structs import replace

from hermes.core.rules import Allow, Ask
from hermes.tools.shell.overwrites import Overwrite
from hermes.tools.shell.path_checker import short
from hermes.tools.shell.paths import CommandPlace, is_temporary
from hermes.tools.shell.verdict import Judgement, judge


def check_command(command: str, place: CommandPlace) -> Judgement:
    found = judge(command, place)
    if not isinstance(found.verdict, Allow) and not found.boxed:
        return found
    lost = next((each for each in found.overwrites if _is_there(each, place)), None)
    if lost is None:
        return found
    why = f"it overwrites {short(lost.path)}, and nothing keeps what is in it now"
    return replace(found, verdict=Ask(why), why=why, text="", reads=False, boxed=False)


def _is_there(each: Overwrite, place: CommandPlace) -> bool:
    """What cannot be looked at counts as being there. What is scratch may be overwritten."""
    if place.scratch and is_temporary(each.path, place):
        return False
    path = Path(each.path)
    try:
        return path.is_symlink() or path.is_file() or (each.any_kind and path.exists())
    except OSError:
        return True
