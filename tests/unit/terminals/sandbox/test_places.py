"""What a box shows and what it never does."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes.core.errors import ToolFailed
from hermes.ports.sandbox import BoxRequest
from hermes.terminals.sandbox.bubblewrap import words
from hermes.terminals.sandbox.landlock import Means, steps
from hermes.terminals.sandbox.limits import Caps
from hermes.terminals.sandbox.places import SandboxPaths, ShownPath, is_below, layout_of, survey

NOTHING = ShownPath((), ())


def places(workspace: Path, home: Path, **more: object) -> SandboxPaths:
    for folder in (workspace, home):
        folder.mkdir(parents=True, exist_ok=True)
    person = Path("/home/you")
    return SandboxPaths(workspace=workspace, home=home, person=person, shared=NOTHING, **more)  # type: ignore[arg-type]


def wish(workspace: Path, profile: str = "write") -> BoxRequest:
    return BoxRequest(profile=profile, call="c", workdir=str(workspace), note="")  # type: ignore[arg-type]


def test_of_a_shared_folder_only_what_everybody_may_read_is_shown(tmp_path: Path) -> None:
    for name in ("open/a", "open/b", "mixed/a", "mixed/secret", "closed/a"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.parent.chmod(0o755)
        file.write_text("")
        file.chmod(0o644)
    (tmp_path / "mixed/secret").chmod(0o600)
    (tmp_path / "closed").chmod(0o700)
    (tmp_path / "link").symlink_to("closed/a")
    tmp_path.chmod(0o755)
    shown = survey(str(tmp_path))
    assert shown.open == (str(tmp_path / "mixed/a"), str(tmp_path / "open"))
    assert shown.closed == (str(tmp_path / "closed"), str(tmp_path / "mixed/secret"))


def test_the_workspace_in_our_home_is_shown_without_the_rest_of_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shown = layout_of(places(home / "workspace", home), wish(home / "workspace"))
    assert shown.workspace == str(home / "workspace")
    assert not any(str(home) == path for path in shown.readable)
    assert shown.hidden == ()


def test_our_home_inside_the_workspace_is_hidden(tmp_path: Path) -> None:
    shown = layout_of(places(tmp_path, tmp_path / "home"), wish(tmp_path))
    assert str(tmp_path / "home") in shown.hidden
    said = words(shown, (), Caps())
    at = said.index("--bind")
    assert said.index(str(tmp_path / "home")) > at, "it is put on top of the workspace"


def test_where_nothing_can_be_hidden_such_a_workspace_is_refused(tmp_path: Path) -> None:
    shown = layout_of(places(tmp_path, tmp_path / "home"), wish(tmp_path))
    plain = Means(machine="x86_64", namespaces=False, own_users=False)
    with pytest.raises(ToolFailed, match=r"set terminal\.workdir"):
        steps(shown, NOTHING, plain, Caps())


@pytest.mark.parametrize("inside", ["", "skills", "memories", "calls/x"])
def test_a_folder_of_ours_is_no_workspace(tmp_path: Path, inside: str) -> None:
    home = tmp_path / "home"
    with pytest.raises(ToolFailed, match="folder of Hermes"):
        layout_of(places(home / inside, home), wish(home))


@pytest.mark.parametrize("whole", ["/", "/usr", "/etc", "/tmp"])
def test_the_system_is_no_workspace(tmp_path: Path, whole: str) -> None:
    with pytest.raises(ToolFailed, match="contains the system"):
        layout_of(
            replace(places(tmp_path / "w", tmp_path / "h"), workspace=Path(whole)),
            wish(Path(whole)),
        )


def test_files_that_run_later_are_locked_and_links_are_left_alone(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / ".git/hooks").mkdir(parents=True)
    (work / ".git/config").write_text("")
    (work / "AGENTS.md").symlink_to("elsewhere.md")
    made = places(work, tmp_path / "home")
    shown = layout_of(made, wish(work))
    assert shown.pinned == (str(work / ".git"),)
    assert shown.locked == (str(work / ".git/config"), str(work / ".git/hooks"))
    assert layout_of(made, wish(work, "read")).locked == ()


def test_hidden_files_of_a_person_in_the_workspace_are_hidden(tmp_path: Path) -> None:
    person = tmp_path / "person"
    (person / ".ssh").mkdir(parents=True)
    (person / "notes").mkdir()
    made = replace(places(person, tmp_path / "home"), person=person)
    assert layout_of(made, wish(person)).hidden == (str(person / ".ssh"),)


def test_a_readable_folder_may_not_hold_our_home(tmp_path: Path) -> None:
    made = places(tmp_path / "work", tmp_path / "home", readable=(str(tmp_path),))
    with pytest.raises(ToolFailed, match="where the secrets are"):
        layout_of(made, wish(tmp_path / "work"))


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("/a", "/a"),
        ("/a/b", "/a"),
        ("/ab", "/a"),
        ("/a", "/a/b"),
        ("/a", "/"),
        ("/", "/"),
        ("/", "/a"),
    ],
)
def test_a_path_is_below_a_folder_as_it_is_for_pathlib(path: str, folder: str) -> None:
    assert is_below(path, folder) is Path(path).is_relative_to(folder)
