"""What works in a workspace touches no disk of its own: the place may be another machine."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
IN_A_WORKSPACE = ("src/hermes/tools", "src/hermes/context")
# The label log is a file of our own home; `place` tells of the machine of the gateway; the
# reading of shell commands looks at the programs that a command names.
ON_OUR_OWN_DISK = (
    "src/hermes/context/place.py",
    "src/hermes/tools/files/label_log.py",
    "src/hermes/tools/shell/",
)
MODULES = {"os", "os.path", "glob", "shutil", "stat", "subprocess", "tempfile"}
METHODS = {
    *("read_text", "read_bytes", "write_text", "write_bytes", "iterdir", "glob", "rglob", "is_dir"),
    *("is_file", "is_symlink", "exists", "lstat", "mkdir", "unlink", "rmdir", "touch", "chmod"),
    *("resolve", "readlink", "symlink_to", "hardlink_to", "expanduser"),
}


def touches(source: str) -> Iterator[str]:
    """Lines that import what touches a disk, open a file, or ask a concrete path about one."""
    nodes = list(ast.walk(ast.parse(source)))
    froms = [
        (node.module, one.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    ]
    concrete = ("pathlib", "Path") in froms
    for node in nodes:
        match node:
            case ast.Import(names=names) if {one.name for one in names} & MODULES:
                yield ast.unparse(node)
            case ast.ImportFrom(module=str(module)) if module in MODULES:
                yield ast.unparse(node)
            case ast.Call(func=ast.Name(id="open")):
                yield ast.unparse(node)
            case ast.Call(func=ast.Attribute(attr=method)) if concrete and method in METHODS:
                yield ast.unparse(node)


def test_what_works_in_a_workspace_touches_no_disk_but_through_its_port() -> None:
    found = {}
    for folder in IN_A_WORKSPACE:
        for path in (ROOT / folder).rglob("*.py"):
            name = str(path.relative_to(ROOT))
            if not name.startswith(ON_OUR_OWN_DISK):
                found[name] = list(touches(path.read_text("utf-8")))
    assert len(found) > 20
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_the_rule_sees_what_it_should() -> None:
    path = "from pathlib import Path\n"
    for line in ("import os", "from os import path", "open('x')", f"{path}Path('x').read_text()"):
        assert list(touches(line)), line
    for line in ("reading.read_text(page)", "from pathlib import PurePath", "files.open('x', a)"):
        assert not list(touches(line)), line
