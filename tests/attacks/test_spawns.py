"""SBX-1: processes begin in the declared places only, each with its reason."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "hermes"
STARTERS = {
    "subprocess": {"Popen", "run", "call", "check_call", "check_output", "getoutput"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "os": {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "startfile"},
    "pty": {"spawn", "fork"},
    "multiprocessing": {"Process", "Pool"},
}
PREFIXES = {"os": ("exec", "spawn")}
METHODS = {"subprocess_exec", "subprocess_shell", "PyOS_BeforeFork"}
WHY = {
    "terminals/spawn.py": "the place: commands of tools, boxed by the sandbox they are given",
    "terminals/wrapper.py": "the program that spawn.py starts: forks what it is ordered to",
    "terminals/sandbox/kernel.py": "a fork into a control group, for the wrapper",
    "terminals/sandbox/idmap.py": "a process of a moment, for a user namespace to begin in",
    "terminals/sandbox/enter.py": "the way into a box: becomes the command, or waits for it",
    "terminals/sandbox/links.py": "forks itself for each connection from a box to the proxy",
    "cli/gateway/service/programs.py": "asks systemd or launchd, with fixed arguments",
    "cli/gateway/service/background.py": "the owner's own command: begins the gateway",
    "cli/gateway/service/restarting.py": "the gateway's own command line: checks the next start",
    "cli/config/edit.py": "the owner's own command: opens the owner's editor",
    "cli/setup/extras.py": "the owner's own command: ./hermes of this checkout, to install a set",
    "providers/local.py": "the built-in model, with fixed words and without our environment",
    "tui/paste.py": "the owner's own key: asks the desktop for the picture in the clipboard",
    "cli/gateway/run.py": "the gateway becomes itself again at a restart",
    "cli/demo/play.py": "the owner's own command: a gateway to be killed in front of them",
    "cli/demo/tour.py": "the owner's own command: this program again, on a home of its own",
    "providers/weights/packages.py": "pip, for weights that the owner asked for; it builds nothing",
    "hooks/run.py": "hooks that the owner wrote, boxed by the sandbox it is given",
    "skills/repository.py": "git, for an installation that the owner asked for",
    "skills/builtin/release-notes/scripts/change_list.py": "a script of a skill: runs in a box",
}


def starts(tree: ast.AST) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = {name.name for name in node.names}
            if STARTERS.get(node.module or "", set()) & names:
                return True
        if not isinstance(node, ast.Attribute):
            continue
        if node.attr in METHODS:
            return True
        if isinstance(node.value, ast.Name) and node.value.id in STARTERS:
            module = node.value.id
            if node.attr in STARTERS[module] or node.attr.startswith(PREFIXES.get(module, ("\0",))):
                return True
    return False


def test_sbx_01_no_process_begins_outside_the_declared_places() -> None:
    found = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if starts(ast.parse(file.read_text("utf-8")))
    }
    assert found - WHY.keys() == set(), "ask a Sandbox for a box, or declare the place and say why"
    assert WHY.keys() - found == set(), "these start nothing any more"


def test_sbx_01_the_check_sees_every_way_to_start_one() -> None:
    ways = (
        "import os\nos.execv(a, b)",
        "import os\nos.spawnlp(a, b)",
        "from subprocess import run",
        "import asyncio\nasyncio.create_subprocess_shell(x)",
        "loop.subprocess_exec(x)",
        "import pty\npty.spawn(x)",
    )
    assert [way for way in ways if not starts(ast.parse(way))] == []
    assert not starts(ast.parse("import os\nos.open(x, 0)\nsubprocess.DEVNULL"))
