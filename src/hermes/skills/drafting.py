"""Turn a change that the agent asks for into the tree that it proposes. Writes nothing."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import Rejected
from hermes.skills.form import FILE, NAME_CHARS_MAX, Form, checked_name, parsed, written
from hermes.skills.pins import PinFile
from hermes.skills.proposals import ProposalFolder
from hermes.skills.tree import Tree, form_of, safe_path

COPY = "-copy"


class SkillChange(Struct, frozen=True, kw_only=True):
    """A change in the agent's words. In `files`, "" deletes a file."""

    action: Literal["create", "improve", "patch"]
    name: str
    description: str = ""
    instructions: str = ""
    files: Mapping[str, str] = {}
    file: str = FILE
    old: str = ""
    new: str = ""


class SkillDraft(Struct, frozen=True, kw_only=True):
    tree: Tree
    action: Literal["create", "improve", "copy"]
    is_free: bool  # no other source has a skill of that name


def drafted(proposals: ProposalFolder, change: SkillChange) -> SkillDraft:
    """Return the proposed tree. Raise Rejected with a sentence that the agent can act on."""
    name, lock = checked_name(change.name), proposals.lock()
    theirs = proposals.original(name, lock) if name not in _own(lock) else None
    if change.action == "create":
        return _new(change, taken=name in _own(lock) or theirs is not None)
    mine = proposals.current(name, lock)
    if mine is not None:
        tree = _changed(mine, change)
        _demand_change(mine, tree)
        return SkillDraft(tree=_named(tree, name), action="improve", is_free=theirs is None)
    if theirs is None:
        raise Rejected(f"there is no skill {name}; see skills_list")
    tree = _changed(theirs, change)
    _demand_change(theirs, tree)
    copy = name[: NAME_CHARS_MAX - len(COPY)].rstrip("-") + COPY
    if copy in _own(lock):
        raise Rejected(
            f"{name} is not yours to change, but your copy {copy} exists already: improve that"
        )
    return SkillDraft(tree=_named(tree, copy), action="copy", is_free=False)


def _own(lock: PinFile) -> frozenset[str]:
    return frozenset(name for name, pin in lock.agent.items() if pin.now.sha256)


def _new(change: SkillChange, *, taken: bool) -> SkillDraft:
    if taken:
        raise Rejected(f"there is a skill {change.name} already: improve it, or choose a new name")
    form = Form(name=change.name, description=change.description, body=change.instructions)
    tree = _with_files({FILE: written(form)}, change.files)
    form_of(tree)
    return SkillDraft(tree=tree, action="create", is_free=True)


def _changed(tree: Tree, change: SkillChange) -> Tree:
    if change.action == "patch":
        return _patched(tree, change)
    form = form_of(tree)
    form = replace(
        form,
        description=change.description or form.description,
        body=change.instructions or form.body,
    )
    return _with_files({**tree, FILE: written(form)}, change.files)


def _patched(tree: Tree, change: SkillChange) -> Tree:
    file = safe_path(change.file)
    if file not in tree:
        raise Rejected(f"it has no file {file}; it has {', '.join(sorted(tree))[:500]}")
    try:
        text = tree[file].decode("utf-8")
    except UnicodeDecodeError as broken:
        raise Rejected(f"{file} is not a text file") from broken
    times = text.count(change.old)
    if times != 1:
        raise Rejected(f"old is in {file} {times} times; it must match exactly one place")
    return {**tree, file: text.replace(change.old, change.new).encode()}


def _with_files(tree: Tree, files: Mapping[str, str]) -> Tree:
    result = dict(tree)
    for path, text in files.items():
        if safe_path(path) == FILE:
            raise Rejected(f"change {FILE} by description and instructions, or by patch")
        if text:
            result[path] = text.encode()
        elif path in result:
            del result[path]
    return result


def _named(tree: Tree, name: str) -> Tree:
    """Return the tree with this name in its SKILL.md. Raise Rejected if SKILL.md is no longer
    valid."""
    form = parsed(tree[FILE])
    return tree if form.name == name else {**tree, FILE: written(replace(form, name=name))}


def _demand_change(before: Tree, after: Tree) -> None:
    if before == after:
        raise Rejected("this change has no effect")
