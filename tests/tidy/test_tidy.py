"""Style that can be measured is checked here, so that reviews can talk about meaning.

Each test is one rule and lists every place that breaks it. An exception is a line in a table below,
with its reason in the commit that added it; a ratchet only ever goes down.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "setup", "tests")

LINES_PER_FILE, LINES_PER_FUNCTION, PARAMETERS, METHODS = 400, 60, 7, 20
BUDGETS = {"core": 7_600, "agent": 1_400, "gateway": 4_100}
# Files that are longer than the limit, and how long they may be at most.
RATCHET: dict[str, int] = {}

LAZY_IMPORTS_IN = {
    "src/hermes/__main__.py",
    "src/hermes/app/platforms.py",
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
    """A Python file of ours, read and parsed once; its nodes are walked once, too."""

    name: str
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]

    @property
    def is_ours(self) -> bool:
        return not self.name.startswith("tests/")

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in self.nodes if isinstance(node, ast.ClassDef))

    def calls(self) -> Iterator[ast.Call]:
        return (node for node in self.nodes if isinstance(node, ast.Call))


Rule = Callable[[Source], Iterable[str]]
RULES: list[Rule] = []


def rule(check: Rule) -> Rule:
    RULES.append(check)
    return check


@cache
def findings() -> dict[Rule, list[str]]:
    """All rules over one file after the other: a million nodes at once would cost every later test
    of this process its share of the garbage collector's time."""
    found: dict[Rule, list[str]] = {check: [] for check in RULES}
    for source in sources():
        for check in RULES:
            found[check] += check(source)
    return found


def sources() -> Iterator[Source]:
    for name, text in texts().items():
        tree = ast.parse(text)
        yield Source(name, text, tree, tuple(ast.walk(tree)))


@cache
def texts() -> dict[str, str]:
    """Our Python files that are not empty, by name."""
    paths = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
    read = ((str(p.relative_to(ROOT)), p.read_text(encoding="utf-8")) for p in paths)
    return {name: text for name, text in read if text}


def lines_of(text: str) -> int:
    return text.count("\n")


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


def comments(source: Source) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def docstrings(source: Source) -> Iterator[tuple[int, str]]:
    for node in (source.tree, *source.functions(), *source.classes()):
        if text := ast.get_docstring(node):
            yield (1 if isinstance(node, ast.Module) else node.lineno), text


@rule
def opens_badly(source: Source) -> Iterator[str]:
    first = (ast.get_docstring(source.tree) or "").partition("\n")[0]
    if not re.match(r"\W*\w", first) or not first.rstrip().endswith((".", ":", "?", "…")):
        yield source.name


def test_each_file_opens_with_a_sentence() -> None:
    assert findings()[opens_badly] == []


def test_files_fit() -> None:
    lines = {name: lines_of(text) for name, text in texts().items()}
    long = {n: c for n, c in lines.items() if c > RATCHET.get(n, LINES_PER_FILE)}
    assert long == {}


def test_ratchets_only_go_down() -> None:
    lines = {name: lines_of(text) for name, text in texts().items()}
    loose = {n for n, most in RATCHET.items() if not LINES_PER_FILE < lines.get(n, 0) == most}
    assert loose == set(), "write the new, lower number into RATCHET, or remove the entry"


@rule
def long_functions(source: Source) -> Iterator[str]:
    for fn in source.functions():
        lines = (fn.end_lineno or 0) - fn.lineno + 1
        if lines > LINES_PER_FUNCTION:
            yield f"{source.name}:{fn.lineno} {fn.name}: {lines} lines"


def test_functions_fit() -> None:
    assert findings()[long_functions] == []


@rule
def many_parameters(source: Source) -> Iterator[str]:
    for fn in source.functions() if source.is_ours else ():
        every = (*fn.args.posonlyargs, *fn.args.args, *fn.args.kwonlyargs)
        given = [one.arg for one in every if one.arg not in {"self", "cls"}]
        if len(given) > PARAMETERS:
            yield f"{source.name}:{fn.lineno} {fn.name}: {len(given)} parameters"


def test_functions_take_few_parameters() -> None:
    assert findings()[many_parameters] == []


@rule
def large_classes(source: Source) -> Iterator[str]:
    for one in source.classes():
        methods = [m for m in one.body if isinstance(m, ast.FunctionDef | ast.AsyncFunctionDef)]
        if len(methods) > METHODS:
            yield f"{source.name}:{one.lineno} {one.name}: {len(methods)} methods"


def test_classes_fit() -> None:
    assert findings()[large_classes] == []


def test_the_engine_stays_small() -> None:
    for package, most in BUDGETS.items():
        folder = f"src/hermes/{package}/"
        lines = sum(lines_of(text) for name, text in texts().items() if name.startswith(folder))
        assert lines <= most, f"{package}: {lines} lines"


@rule
def imports_inside(source: Source) -> Iterator[str]:
    for fn in source.functions() if source.name not in LAZY_IMPORTS_IN else ():
        for node in ast.walk(fn):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield f"{source.name}:{node.lineno} in {fn.name}"


def test_imports_stand_at_the_top() -> None:
    assert findings()[imports_inside] == []


@rule
def lazy_modules_without_types(source: Source) -> Iterator[str]:
    """`name = LazyModule("a.b")` stands beside `if TYPE_CHECKING:` with an import of the same."""
    for node in source.nodes if source.is_ours else ():
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            continue
        typed = {
            each.asname or each.name: f"{one.module}.{each.name}"
            if isinstance(one, ast.ImportFrom)
            else each.name
            for one in node.body
            if isinstance(one, ast.Import | ast.ImportFrom)
            for each in one.names
        }
        for one in node.orelse:
            match one:
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Call(func=ast.Name(id="LazyModule"), args=[ast.Constant(value)]),
                ) if typed.get(name) == value:
                    continue
                case _:
                    yield f"{source.name}:{one.lineno}"


def test_a_lazy_module_is_the_one_that_type_checkers_see() -> None:
    assert findings()[lazy_modules_without_types] == []


def is_broad(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(is_broad(one) for one in caught.elts)
    return caught is None or ast.unparse(caught).rpartition(".")[2] in BROAD


@rule
def broad_catches(source: Source) -> Iterator[str]:
    if not source.is_ours or source.name in CATCHES_EVERYTHING:
        return
    for node in source.nodes:
        if isinstance(node, ast.ExceptHandler) and is_broad(node.type):
            yield f"{source.name}:{node.lineno}"
    for call in source.calls():
        if ast.unparse(call.func).endswith("suppress") and any(map(is_broad, call.args)):
            yield f"{source.name}:{call.lineno}"


def test_nobody_catches_everything() -> None:
    assert findings()[broad_catches] == []


@rule
def reflections(source: Source) -> Iterator[str]:
    if not source.is_ours or source.name in REFLECTS_ON_FOREIGN_OBJECTS:
        return
    for call in source.calls():
        if isinstance(call.func, ast.Name) and call.func.id in REFLECTION:
            yield f"{source.name}:{call.lineno}"


def test_no_reflection_on_our_own_objects() -> None:
    assert findings()[reflections] == []


@rule
def vague_names(source: Source) -> Iterator[str]:
    named = [(one.name, BANNED_CLASS) for one in source.classes()]
    named += [(Path(source.name).stem, BANNED_MODULE)]
    return (f"{source.name}: {name}" for name, banned in named if banned.search(name))


def test_a_public_class_name_means_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for path in sorted((ROOT / "src/hermes").rglob("*.py")):
        if "builtin" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_names_say_what_a_thing_is() -> None:
    assert findings()[vague_names] == []


@rule
def cited_tickets(source: Source) -> Iterator[str]:
    suspect = TICKET.search(source.text) is not None  # or no comment can cite one
    remarks = (*(comments(source) if suspect else ()), *docstrings(source))
    return (f"{source.name}:{line}" for line, text in remarks if TICKET.search(text))


def test_remarks_do_not_cite_tickets() -> None:
    assert findings()[cited_tickets] == [], "the story of a bug is a test's name and a commit"


def test_nothing_is_left_for_later() -> None:
    assert [name for name, text in tracked() if UNFINISHED.search(text)] == []


def test_no_file_names_a_machine_or_a_registry() -> None:
    telling = []
    for name, text in tracked():
        for number, line in enumerate(text.splitlines(), 1):
            if found := MACHINE.search(line):
                telling.append(f"{name}:{number} {found.group()}")
    assert telling == []


@rule
def mocks(source: Source) -> Iterator[str]:
    for node in () if source.is_ours else source.nodes:
        match node:
            case ast.Import(names=names):
                found = [one.name for one in names if one.name.startswith("unittest")]
            case ast.ImportFrom(module=str(module)):
                found = [module] if module.startswith(("unittest", "pytest_mock")) else []
            case ast.Attribute(value=ast.Name(id="monkeypatch"), attr=attr):
                found = [] if attr in PATCHES_ALLOWED else [f"monkeypatch.{attr}"]
            case _:
                continue
        yield from (f"{source.name}:{node.lineno} {one}" for one in found)


def test_tests_use_no_mocks() -> None:
    faking = findings()[mocks]
    assert faking == [], "doubles ship with the package; only environment variables are patched"


def test_every_hint_about_an_extra_comes_from_one_place() -> None:
    """The package called hermes is another project's, and each copy is added to in its own way."""
    theirs = re.compile(r"(?<![\w-])hermes\[(?!')|install '?hermes(?![\w-])")
    asks = re.compile(r"\b(pip|pipx|uv tool) (install|inject)\b")
    found = []
    for name, text in tracked():
        if name == "tests/tidy/test_tidy.py":
            continue
        found += [f"{name}: {each[0]}" for each in theirs.finditer(text)]
        if name.startswith("src/") and name != "src/hermes/installed.py":
            found += [f"{name}: {each[0]}" for each in asks.finditer(text)]
    assert found == []
