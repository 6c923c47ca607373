"""Style that can be measured is checked here, so that reviews can talk about meaning.

Each test is one rule and lists every place that breaks it. An exception is a line in a table below,
with its reason in the commit that added it; a ratchet only ever goes down.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

LINES_PER_FILE, LINES_PER_FUNCTION, PARAMETERS, METHODS = 400, 60, 7, 20
BUDGETS = {("core", "agent", "gateway"): 7_200}
# Files that are longer than the limit, and how long they may be at most.
RATCHET: dict[str, int] = {}

LAZY_IMPORTS_IN = {
    "src/hermes/__main__.py",
    "src/hermes/app.py",
    "src/hermes/equipment.py",
    "src/hermes/platforms.py",
    "src/hermes/costs.py",
    "src/hermes/cli/loaders.py",
    "src/hermes/cli/main.py",
    "src/hermes/skills/fetch.py",
    "src/hermes/tools/shell_syntax.py",
}
CATCHES_EVERYTHING = {"src/hermes/gateway/supervise.py"}
REFLECTS_ON_FOREIGN_OBJECTS: set[str] = set()

BANNED_CLASS = re.compile(r"(Manager|Helper|Util|Misc|Impl|Mixin|Handler|Data|Info)s?$", re.I)
BANNED_MODULE = re.compile(r"(manager|helper|util|misc|impl|mixin|handler|common|info)s?$")
TICKET = re.compile(r"(#\s?|\bGH-|\b(issue|ticket|bug|PR)s? #?)\d{2,}\b", re.I)
REFLECTION = {"delattr", "getattr", "hasattr", "setattr", "vars"}
BROAD = {"Exception", "BaseException"}
PATCHES_ALLOWED = {"chdir", "delenv", "setenv", "syspath_prepend"}

# Written in pieces, or this file would be the first that breaks the rule.
UNFINISHED = re.compile(
    r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b"
)
MACHINE = re.compile(
    "|".join(
        [
            r"(?<![\w.])/(root|work|opt/wheels)/\w",
            r"(?<![\w.])/(home|Users)/(?!you\b|user\b)\w+",
            r"\.py" + "env",
            r"\bpypi\." + "org",
            r"pythonhosted\." + "org",
            r"registry\.npm" + "js",
            r"\bdeb\.debian\." + "org",
        ]
    )
)


@dataclass(frozen=True)
class Source:
    """A Python file of ours, read and parsed once."""

    name: str
    text: str
    tree: ast.Module

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))

    def calls(self) -> Iterator[ast.Call]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    texts = ((str(p.relative_to(ROOT)), p.read_text(encoding="utf-8")) for p in paths)
    return tuple(Source(name, text, ast.parse(text)) for name, text in texts if text)


def ours() -> tuple[Source, ...]:
    return sources("src", "setup")


def everything() -> tuple[Source, ...]:
    return sources("src", "setup", "tests")


@cache
def tracked() -> tuple[tuple[str, str], ...]:
    """Name and text of every file that is or could be committed."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.decode().split("\0") if name]
    else:  # a copy without history: everything but what tools leave behind
        found = (p.relative_to(ROOT) for p in ROOT.rglob("*") if p.is_file())
        names = [str(p) for p in found if not re.match(r"\.(?!ci|git)", str(p))]
    texts = []
    for name in sorted(names):
        try:
            texts.append((name, (ROOT / name).read_text(encoding="utf-8")))
        except (UnicodeDecodeError, FileNotFoundError):
            continue
    return tuple(texts)


def remarks(source: Source) -> Iterator[tuple[int, str]]:
    """Comments and docstrings, with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in (source.tree, *source.functions(), *source.classes()):
        if text := ast.get_docstring(node):
            yield (1 if isinstance(node, ast.Module) else node.lineno), text


def test_each_file_opens_with_a_sentence() -> None:
    def opens_well(source: Source) -> bool:
        first = (ast.get_docstring(source.tree) or "").partition("\n")[0]
        return bool(re.match(r"\W*\w", first)) and first.rstrip().endswith((".", ":", "?", "…"))

    assert [source.name for source in everything() if not opens_well(source)] == []


def test_files_fit() -> None:
    lines = {source.name: source.text.count("\n") for source in everything()}
    long = {n: c for n, c in lines.items() if c > RATCHET.get(n, LINES_PER_FILE)}
    assert long == {}


def test_ratchets_only_go_down() -> None:
    lines = {source.name: source.text.count("\n") for source in everything()}
    loose = {n for n, most in RATCHET.items() if not LINES_PER_FILE < lines.get(n, 0) == most}
    assert loose == set(), "write the new, lower number into RATCHET, or remove the entry"


def test_functions_fit() -> None:
    long = []
    for source in everything():
        for fn in source.functions():
            lines = (fn.end_lineno or 0) - fn.lineno + 1
            if lines > LINES_PER_FUNCTION:
                long.append(f"{source.name}:{fn.lineno} {fn.name}: {lines} lines")
    assert long == []


def test_functions_take_few_parameters() -> None:
    many = []
    for source in ours():
        for fn in source.functions():
            every = (*fn.args.posonlyargs, *fn.args.args, *fn.args.kwonlyargs)
            given = [one.arg for one in every if one.arg not in {"self", "cls"}]
            if len(given) > PARAMETERS:
                many.append(f"{source.name}:{fn.lineno} {fn.name}: {len(given)} parameters")
    assert many == []


def test_classes_fit() -> None:
    large = []
    for source in everything():
        for one in source.classes():
            methods = [m for m in one.body if isinstance(m, ast.FunctionDef | ast.AsyncFunctionDef)]
            if len(methods) > METHODS:
                large.append(f"{source.name}:{one.lineno} {one.name}: {len(methods)} methods")
    assert large == []


def test_the_engine_stays_small() -> None:
    for packages, most in BUDGETS.items():
        folders = [f"src/hermes/{package}" for package in packages]
        lines = sum(source.text.count("\n") for source in sources(*folders))
        assert lines <= most, f"{' + '.join(packages)}: {lines} lines"


def test_imports_stand_at_the_top() -> None:
    inside = [
        f"{source.name}:{node.lineno} in {fn.name}"
        for source in everything()
        if source.name not in LAZY_IMPORTS_IN
        for fn in source.functions()
        for node in ast.walk(fn)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert inside == []


def test_nobody_catches_everything() -> None:
    def is_broad(caught: ast.expr | None) -> bool:
        if isinstance(caught, ast.Tuple):
            return any(is_broad(one) for one in caught.elts)
        return caught is None or ast.unparse(caught).rpartition(".")[2] in BROAD

    def catches(source: Source) -> Iterator[int]:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ExceptHandler) and is_broad(node.type):
                yield node.lineno
        for call in source.calls():
            if ast.unparse(call.func).endswith("suppress") and any(map(is_broad, call.args)):
                yield call.lineno

    guarded = (source for source in ours() if source.name not in CATCHES_EVERYTHING)
    assert [f"{source.name}:{line}" for source in guarded for line in catches(source)] == []


def test_no_reflection_on_our_own_objects() -> None:
    reflecting = [
        f"{source.name}:{call.lineno}"
        for source in ours()
        if source.name not in REFLECTS_ON_FOREIGN_OBJECTS
        for call in source.calls()
        if isinstance(call.func, ast.Name) and call.func.id in REFLECTION
    ]
    assert reflecting == []


def test_names_say_what_a_thing_is() -> None:
    vague = []
    for source in everything():
        named = [(one.name, BANNED_CLASS) for one in source.classes()]
        named += [(Path(source.name).stem, BANNED_MODULE)]
        vague += [f"{source.name}: {name}" for name, banned in named if banned.search(name)]
    assert vague == []


def test_remarks_do_not_cite_tickets() -> None:
    citing = [
        f"{source.name}:{line}"
        for source in everything()
        for line, text in remarks(source)
        if TICKET.search(text)
    ]
    assert citing == [], "the story of a bug is a test's name and a commit"


def test_nothing_is_left_for_later() -> None:
    assert [name for name, text in tracked() if UNFINISHED.search(text)] == []


def test_no_file_names_a_machine_or_a_registry() -> None:
    telling = []
    for name, text in tracked():
        for number, line in enumerate(text.splitlines(), 1):
            if found := MACHINE.search(line):
                telling.append(f"{name}:{number} {found.group()}")
    assert telling == []


def test_tests_use_no_mocks() -> None:
    faking = []
    for source in sources("tests"):
        for node in ast.walk(source.tree):
            match node:
                case ast.Import(names=names):
                    found = [one.name for one in names if one.name.startswith("unittest")]
                case ast.ImportFrom(module=str(module)):
                    found = [module] if module.startswith(("unittest", "pytest_mock")) else []
                case ast.Attribute(value=ast.Name(id="monkeypatch"), attr=attr):
                    found = [] if attr in PATCHES_ALLOWED else [f"monkeypatch.{attr}"]
                case _:
                    continue
            faking += [f"{source.name}:{node.lineno} {one}" for one in found]
    assert faking == [], "doubles ship with the package; only environment variables are patched"
