"""Other names by which models call our tools and their arguments. Pure.

Models are trained with the tools of other programs. A name is here only if it can mean one thing:
a `bash` with a `cmd` is our terminal with a command. What could mean two things is reported to the
model instead (see repair.py).
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from hermes.core.ports import ToolSpec

_TOOLS: Final[Mapping[str, str]] = {
    "terminal": (
        "bash cmd exec execute executebash executecommand executeshell runbash runcommand "
        "runinterminal runshell runshellcommand runterminalcmd runterminalcommand sh shell "
        "shellcommand shellexec bashcommand bashtool shelltool terminalcommand"
    ),
    "read_file": "cat fileread openfile read readfiles readtextfile viewfile getfilecontents",
    "write_file": "createfile filewrite savefile write writetofile",
    "patch": "applydiff applypatch edit editfile fileedit patchfile replaceinfile strreplace",
    "search_files": "filesearch findfiles glob grep grepsearch searchcode searchinfiles",
    "web_extract": "fetch fetchurl fetchwebpage openurl readurl webfetch webread",
    "todo": "todolist todowrite updateplan updatetodos writetodos",
    "session_search": "conversationsearch recall searchconversations searchhistory searchsessions",
    "skill_view": "loadskill readskill skill useskill viewskill",
    "skills_list": "listskills",
}
_IMPLIED: Final[Mapping[str, Mapping[str, str]]] = {
    name: {"target": "files"} for name in ("glob", "findfiles", "filesearch")
}
_ARGUMENTS: Final[Mapping[str, str]] = {
    "command": "cmd commandline shellcommand bashcommand bash script",
    "path": (
        "filepath file filename absolutepath targetfile targetpath directory dir folder "
        "pathtofile relativepath"
    ),
    "content": "contents filecontent filecontents filetext text body data",
    "old_string": "oldstr oldtext old search find",
    "new_string": "newstr newtext new replace replacement",
    "pattern": "regex query q searchterm searchpattern",
    "query": "q keywords searchquery words text",
    "workdir": "cwd workingdirectory workdirectory directory dir",
    "timeout": "timeouts timeoutseconds timeoutsec",
    "background": "isbackground runinbackground",
    "offset": "startline linestart fromline",
    "limit": "maxresults numresults nlines numlines maxlines",
    "glob": "include includepattern filepattern",
    "urls": "url link links uri",
    "todos": "items tasks plan todolist",
    "name": "skill skillname",
    "target": "to recipient",
}
_COMMENTS: Final = frozenset({"description", "explanation", "reason", "reasoning", "thought"})
_TOOL_OF: Final = {alias: tool for tool, names in _TOOLS.items() for alias in names.split()}


def squeeze(name: str) -> str:
    """Return a name without case and marks: `ReadFile`, `read-file` and `read_file` are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def tool_of(name: str, known: Mapping[str, ToolSpec]) -> str | None:
    """Return the known tool that a model means by this name; None when that is not certain."""
    if name in known:
        return name
    plain = re.sub(r"[:#]\d{1,4}\Z", "", name.strip())  # some number their calls in the name
    last = squeeze(re.split(r"[.:/]", plain)[-1])
    spellings = [each for each in (squeeze(plain), last) if each]
    fitting = [tool for tool in known if squeeze(tool) in spellings]
    if fitting:
        return fitting[0] if len(fitting) == 1 else None
    meant = next((_TOOL_OF[each] for each in spellings if each in _TOOL_OF), None)
    return meant if meant in known else None


def renamed(name: str, spec: ToolSpec, arguments: str) -> str:
    """Return the arguments under our names. `name` is what the model called the tool. Arguments
    that the tool knows are never touched."""
    types = _properties(spec)
    given = _object(arguments)
    if not types or given is None:
        return arguments
    implied = _IMPLIED.get(squeeze(name), {})
    found: dict[str, object] = {
        key: value for key, value in implied.items() if key in types and key not in given
    }
    strange = [key for key in given if key not in types]
    if not strange and not found:
        return arguments
    found |= {key: value for key, value in given.items() if key in types}
    for key in strange:
        wanted = _meant(key, types, given)
        if wanted and wanted not in found:
            found[wanted] = _fitting(given[key], types[wanted])
        elif key not in _COMMENTS:
            found[key] = given[key]  # the tool itself says what is wrong with it
    return msgspec.json.encode(found).decode()


def schema_types(spec: ToolSpec) -> Mapping[str, object]:
    """Return the type of each argument as the schema says it; "" where it says none."""
    return _properties(spec)


def _meant(key: str, types: Mapping[str, object], given: Mapping[str, object]) -> str | None:
    """Return the argument that the key stands for, if it is the only one that can."""
    plain = squeeze(key)
    exact = [name for name in types if squeeze(name) == plain and name not in given]
    if exact:
        return exact[0] if len(exact) == 1 else None
    able = [
        name for name in types if name not in given and plain in _ARGUMENTS.get(name, "").split()
    ]
    return able[0] if len(able) == 1 else None


def _fitting(value: object, kind: object) -> object:
    return [value] if kind == "array" and isinstance(value, str) else value


def _properties(spec: ToolSpec) -> dict[str, object]:
    schema = _object(spec.parameters) or {}
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {
        str(name): (each.get("type", "") if isinstance(each, dict) else "")
        for name, each in properties.items()
    }


def _object(text: str) -> dict[str, object] | None:
    try:
        found = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
