"""`search_files`, with the program that is always there and with ripgrep where it is installed."""

import json
import shutil
import time
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.core.messages import Outcome
from hermes.terminals import walk
from hermes.terminals.workspace import LocalWorkspace
from hermes.tools.files.search import search_tool
from tests.unit.tools.tool_context import Desk


def here(host: Desk, *, ripgrep: bool) -> LocalWorkspace:
    place = str(host.place)
    return LocalWorkspace(host.terminal, workdir=place, home=place, ripgrep=ripgrep)


ENGINES = ["walk", *(["rg"] if shutil.which("rg") else [])]


@pytest.fixture(params=ENGINES)
def tree(request: pytest.FixtureRequest, host: Desk) -> Desk:
    made = search_tool(here(host, ripgrep=request.param == "rg"))
    host.tools["search_files"] = made
    for name, text in {
        "src/app.py": "import os\nPORT = 8080\n",
        "src/deep/core.py": "port = PORT\n",
        "src/Notes.md": "the port\n",
        ".github/ci.yml": "PORT: 1\n",
        ".git/config": "PORT\n",
        "node_modules/x/index.js": "PORT\n",
        "build/out.py": "PORT = 1\n",
        "odd:name\u00fc.txt": "PORT here\n",
        ".gitignore": "build/\nnode_modules\n*.log\n!keep.log\n",
        "noise.log": "PORT\n",
        "keep.log": "PORT\n",
    }.items():
        path = host.place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (host.place / "blob").write_bytes(b"PORT\x00\x01")
    # ripgrep obeys .gitignore inside repositories only
    (host.place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return host


async def search(host: Desk, pattern: str, **more: object) -> list[str]:
    return (await host.do("search_files", pattern=pattern, **more)).text.splitlines()


async def test_content_is_found_with_path_and_line_and_what_is_ignored_is_not(tree: Desk) -> None:
    assert sorted(await search(tree, r"PORT\b")) == [
        ".github/ci.yml:1:PORT: 1",
        "keep.log:1:PORT",
        "odd:name\u00fc.txt:1:PORT here",
        "src/app.py:2:PORT = 8080",
        "src/deep/core.py:1:port = PORT",
    ]


async def test_a_glob_and_a_path_narrow_the_search(tree: Desk) -> None:
    assert await search(tree, "PORT", glob="*.py") == [
        "src/app.py:2:PORT = 8080",
        "src/deep/core.py:1:port = PORT",
    ]
    assert await search(tree, "import", path="src/app.py") == [
        f"{tree.place}/src/app.py:1:import os"
    ]
    with pytest.raises(ToolFailed, match="does not exist"):
        await search(tree, "x", path="scr")


async def test_names_are_found_by_glob_or_by_a_part_of_them(tree: Desk) -> None:
    assert await search(tree, "*.py", target="files") == ["src/app.py", "src/deep/core.py"]
    assert await search(tree, "notes", target="files") == ["src/Notes.md"]
    [none] = await search(tree, "*.nothing", target="files")
    assert none.startswith("[no matches; try a part of the name")


async def test_where_nothing_is_found_the_result_says_how_to_look_otherwise(tree: Desk) -> None:
    [none] = await search(tree, "nowhere[(]", path="src", glob="*.py")
    assert "(?i)" in none
    assert "target files" in none
    assert "\\(" in none
    assert "search without path and glob" in none
    for wrong, right in ((r".*\.py$", "*.py"), (r"^app\.py", "app.py"), (".*test.*", "*test*")):
        [none] = await search(tree, wrong, target="files")
        assert (
            f"pattern {wrong} is a regular expression, and pattern takes a glob; use {right}"
            in none
        )
    [none] = await search(tree, "def", glob=r".*\.(py|md)")
    assert "glob takes a glob, such as *.py" in none


async def test_results_are_bounded_and_say_so(tree: Desk) -> None:
    (tree.place / "many.txt").write_text("word\n" * 2_000 + "word " + "x" * 9_000 + "\n")
    rows = await search(tree, "word", limit=10)
    assert len(rows) == 11
    assert rows[-1] == "[only the first 10; narrow the search or raise limit]"
    long = await search(tree, "word x", limit=10)
    assert len(long[0]) < 700


async def test_a_wrong_pattern_is_explained(tree: Desk) -> None:
    result = await tree.do("search_files", pattern="(unclosed")
    assert result.outcome is Outcome.FAILED
    assert result.text.startswith("The search failed: ")
    assert "unclosed" in result.text or "unterminated" in result.text


async def test_a_pattern_that_looks_like_an_option_or_a_command_is_only_a_pattern(
    tree: Desk,
) -> None:
    (tree.place / "odd.txt").write_text("--files $(touch pwned) `x` 'q'\n")
    found = await search(tree, r"--files \$\(touch pwned\) `x` 'q'")
    assert found == ["odd.txt:1:--files $(touch pwned) `x` 'q'"]
    found = await search(tree, "x", glob="$(touch pwned)")
    assert found[0].startswith("[no matches; ")
    assert not (tree.place / "pwned").exists()


async def test_searching_follows_the_session_and_leaves_no_folder_behind(tree: Desk) -> None:
    await tree.do("terminal", call="cd-1", command="cd src")
    assert await search(tree, "PORT =") == ["app.py:2:PORT = 8080"]
    assert [p.name for p in tree.calls.iterdir()] == ["cd-1"]


async def test_a_search_that_was_lost_runs_again(tree: Desk) -> None:
    context = tree.context("search_files", "lost-1", pattern="PORT =")
    await tree.tools["search_files"].run(context)
    assert (await tree.tools["search_files"].run(context)).text.startswith("src/app.py:2")


async def test_a_pattern_that_never_ends_is_cut_off_and_what_was_found_stays(host: Desk) -> None:
    tool = search_tool(here(host, ripgrep=False), seconds_max=1.0)
    (host.place / "a.txt").write_text("aaaa!\n")
    (host.place / "b.txt").write_text("a" * 40 + "\n")
    began = time.monotonic()
    result = await tool.run(host.context("search_files", pattern="(a+)+!"))
    assert time.monotonic() - began < 10
    assert result.text == "a.txt:1:aaaa!\n[not finished after 1 s]"


def test_gitignore_rules_mean_what_git_means(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text(
        "# comment\n/only-top\nany-depth\ndocs/*.txt\n"
        "**/cache/**\nlogs/\n[ab].c\n*.tmp\n!keep.tmp\n"
    )
    kept = ["sub/only-top", "docs/deep/a.txt", "c.c", "logs", "keep.tmp", "x/cached"]
    for name in [*kept, "only-top", "x/any-depth", "docs/a.txt", "x/cache/y", "a.c", "z.tmp"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    files = walk.files_of(str(tmp_path), lambda _path: False)
    found = [path.removeprefix(f"{tmp_path}/") for path, _folder, _name in files]
    assert sorted(found) == sorted([*kept, ".gitignore"])


def test_the_walk_prints_what_it_finds_and_fails_with_a_reason(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "f").write_text("word\n")
    asked = {"pattern": "w.rd", "target": "content", "path": str(tmp_path), "glob": "", "limit": 9}
    asked |= {"names": [], "guarded": []}
    assert walk.main(json.dumps(asked)) == 0
    assert capfdbinary.readouterr().out == f"{tmp_path}/f\x001:word\n".encode()
    assert walk.main(json.dumps(asked | {"pattern": "("})) == 2
    assert b"regex error" in capfdbinary.readouterr().out
