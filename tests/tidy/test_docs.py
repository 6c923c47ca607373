"""The documentation is checked as the code is: nothing that people rely on may be missing there."""

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import msgspec

from hermes.commands.chat import chat_commands
from hermes.core.events import Event
from hermes.ports.terminal import Terminal
from hermes.terminals.workspace import LocalWorkspace
from hermes.tools.defaults import default_tools

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ROW = r"(sbx|sh|tm|pol|pair|web|net|path|sec|sup|res|aud)_(\d\d)"


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_every_law_has_a_row_and_every_test_that_is_named_exists() -> None:
    durability = text_of("DURABILITY.md")
    laws = [*range(1, 9), *range(10, 20), *range(20, 29), *range(30, 36), *range(40, 43)]
    laws += [*range(50, 56), *range(60, 64)]
    missing = [law for law in laws if f"| C{law:02} |" not in durability]
    assert missing == []
    tests = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", durability))
    assert [name for name in sorted(named) if f"def {name}(" not in tests] == []


def test_every_test_of_a_law_names_one_that_exists() -> None:
    durability = text_of("DURABILITY.md")
    for path in (ROOT / "tests").rglob("test_*.py"):
        for number in re.findall(r"def test_c(\d\d)_", path.read_text(encoding="utf-8")):
            assert f"| C{number} |" in durability, f"{path.name}: C{number}"


def test_every_row_of_security_names_exactly_the_files_that_attack_it() -> None:
    rows: dict[str, set[str]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        for found in re.finditer(rf"def test_(?:{ROW}_(?:and_)?)+", path.read_text("utf-8")):
            for family, number in re.findall(ROW, found[0]):
                row = f"{family.upper()}-{int(number)}"
                rows.setdefault(row, set()).add(str(path.relative_to(ROOT / "tests")))
    lines = re.findall(r"^\| ([A-Z]+-\d+) \| .* \| (`.*`) \|$", text_of("SECURITY.md"), re.M)
    told = {row: set(re.findall(r"`([^`]+)`", files)) for row, files in lines}
    assert told == rows


def test_every_event_is_documented() -> None:
    tags = [msgspec.inspect.type_info(kind).tag for kind in get_args(Event)]
    events = text_of("EVENTS.md")
    assert [tag for tag in tags if f"`{tag}`" not in events] == []


def test_every_tool_is_documented(tmp_path: Path) -> None:
    tools = text_of("TOOLS.md")
    here = LocalWorkspace(_NoTerminal(), workdir=str(tmp_path), home=str(tmp_path))
    made = default_tools(here)
    assert [tool.spec.name for tool in made if f"`{tool.spec.name}`" not in tools] == []


def test_every_chat_command_is_documented() -> None:
    commands = text_of("COMMANDS.md")
    known = chat_commands(on_stop="keep", default_model="m", choose=str)
    assert [c.name for c in known if f"`{c.name}" not in commands] == []


def test_every_link_between_documents_leads_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_commands_of_the_readme_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    said = set(re.findall(r"^\./hermes ([a-z]+(?: [a-z]+)?)", readme, re.MULTILINE))
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "hermes", "--help"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    known = run.stdout
    for words in said:
        first, _, second = words.partition(" ")
        grouped = re.search(rf"^  {first} {second}\b", known, re.MULTILINE)
        assert grouped or re.search(rf"^  {first}  ", known, re.MULTILINE), words


class _NoTerminal(Terminal):
    """Never used: only the tools' names are read."""
