"""SBX-8: what a command writes into a repository does not run when its owner looks at it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hermes.ports.sandbox import Sandbox
from hermes.views.obeyed_files import INSTRUCTIONS, SELF_ACTING, TRAPS, has_trap, is_obeyed
from tests.attacks.victim import Victim, boxed

EVIL = (
    "evil=$PWD/evil; mkdir -p $evil; "
    "printf '[core]\\nfsmonitor = touch @HOME@/pwned\\n' > $evil/config; "
)
NAME = "-c user.name=a -c user.email=a@b"
PLANTS = {
    "commondir": EVIL + "cp -r .git/refs .git/objects $evil/; echo $evil > .git/commondir",
    "moved commondir": EVIL
    + "mv .git/commondir x; rm -f .git/commondir; ln -sf $evil .git/commondir; "
    + "echo ../evil > .git/commondir",
    "config": EVIL + "cat $evil/config >> .git/config; mv $evil/config .git/config",
    "hooks": "mkdir -p h; echo 'touch @HOME@/pwned' > h/post-index-change; chmod +x h/*; "
    "cp h/* .git/hooks; mv h .git/hooks",
    "worktree config": EVIL
    + "git config extensions.worktreeConfig true; cp $evil/config .git/config.worktree",
    "whole": EVIL
    + "mv .git old; cp -r old .git; cat $evil/config >> .git/config; rm -rf .git/config",
    "nested config": EVIL + "cat $evil/config >> sub/deep/.git/config",
    "nested commondir": EVIL
    + "cp -r .git/refs .git/objects $evil/; echo $evil > sub/deep/.git/commondir",
    "nested moved": EVIL + "mv sub old; cp -r old sub; cat $evil/config >> sub/deep/.git/config",
    "nested renamed": EVIL
    + "mv sub/deep sub/x; cp -r sub/x sub/deep; cat $evil/config >> sub/deep/.git/config",
    "submodule": EVIL
    + "cat $evil/config >> .git/modules/part/config; echo $evil > .git/modules/part/commondir",
    "submodule link": EVIL
    + "cp -r .git/modules/part p; cat $evil/config >> p/config; echo gitdir: ../p > part/.git",
    "bare": EVIL + "cat $evil/config >> store/config; echo $evil > store/commondir",
}


def git(folder: Path, words: str, home: Path) -> str:
    """Run git as the owner does, outside of any box."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "GIT_ALLOW_PROTOCOL": "file"}
    ran = subprocess.run(
        ["sh", "-c", f"git {NAME} {words}"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return (ran.stdout + ran.stderr).decode()


@pytest.fixture
def project(kind: str, victim: Victim) -> Path:
    """Return a repository with one below it, one as a submodule and a bare one."""
    if kind == "landlock-plain":
        pytest.skip("plain Landlock cannot guard files that run later, and says so")
    work, home = victim.workspace, victim.home
    shutil.rmtree(work / ".git")
    for folder in (work, work / "sub/deep", home / "other"):
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init -q", home)
        (folder / "file").write_text("content\n")
        git(folder, "add file", home)
        git(folder, "commit -qm first", home)
    git(work, f"submodule --quiet add {home}/other part", home)
    git(work, "commit -qm part", home)
    git(work, "init -q --bare store", home)
    assert (work / ".git/modules/part/config").exists()
    return work


def looked_at(work: Path, home: Path) -> None:
    for folder in (work, work / "sub", work / "sub/deep", work / "part", work / "store"):
        git(folder, "status", home)


def test_sbx_08_a_planted_repository_setting_does_not_run(
    project: Path, sandbox: Sandbox, victim: Victim
) -> None:
    (project / "file").write_text("changed\n")
    for name, plant in PLANTS.items():
        boxed(sandbox, victim, plant)
        looked_at(project, victim.home)
        assert not (victim.home / "pwned").exists(), name
        assert "changed" in git(project, "diff", victim.home), f"{name}: it still works"


def test_sbx_08_git_still_works_in_the_box(project: Path, sandbox: Sandbox, victim: Victim) -> None:
    command = (
        "set -e; export HOME=/tmp; git config --global user.name a; "
        "git config --global user.email a@b; git config --global --add safe.directory '*'; "
        "for place in . sub/deep part; do cd $place; git switch -q -c work; echo more >> file; "
        "git add file; git commit -qm second; echo most >> file; git stash -q; git stash pop -q; "
        "git commit -qam third; git switch -q -; git merge -q work; git tag v1; git gc -q; "
        "git branch -d work; cd - >/dev/null; cd $OLDPWD; cd $OLDPWD; done; git status --short"
    )
    command = command.replace("cd - >/dev/null; cd $OLDPWD; cd $OLDPWD", f"cd {project}")
    answer = boxed(sandbox, victim, command)
    assert answer.code == 0, answer.text
    for folder in (project, project / "sub/deep", project / "part"):
        assert "third" in git(folder, "log --oneline", victim.home)


def test_sbx_08_what_acts_by_itself_is_read_only_wherever_it_is(
    kind: str, sandbox: Sandbox, victim: Victim
) -> None:
    if kind == "landlock-plain":
        pytest.skip("plain Landlock cannot guard files that run later, and says so")
    places = [victim.workspace / name for name in (*INSTRUCTIONS, "a/b/HERMES.md", "a/.envrc")]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("mine\n")
    names = " ".join(str(place) for place in places)
    boxed(sandbox, victim, f"for f in {names}; do echo evil > $f; rm -f $f; mv $f x; done")
    assert [place.read_text() for place in places] == ["mine\n"] * len(places)


def test_sbx_08_one_list_serves_the_prompt_the_policy_and_the_box() -> None:
    assert set(INSTRUCTIONS) <= SELF_ACTING <= TRAPS
    for name in TRAPS:
        assert has_trap(name)
        assert has_trap(f"a/{name.upper()}/b")
    for name in ("Makefile", "a/package.json", "Dockerfile.dev", "docker-compose.prod.yml", "x.mk"):
        assert is_obeyed(name), name
        assert not has_trap(name), name
    for name in ("notes.txt", "src/main.py", "README.md", "makefile_notes.txt"):
        assert not is_obeyed(name), name
