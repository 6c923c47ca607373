"""From what the agent wants changed to the tree that it proposes. Nothing is written here."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import Rejected
from hermes.skills.form import FILE, NAME_CHARS_MAX, Form, checked_name, parsed, written
from hermes.skills.pins import Lock
from hermes.skills.proposals import Proposals
from hermes.skills.tree import Tree, form_of, safe_path

COPY = "-copy"


class Change(Struct, frozen=True, kw_only=True):
    """As the agent said it. In `files`, "" takes a file away."""

    action: Literal["create", "improve", "patch"]
    name: str
    description: str = ""
    instructions: str = ""
    files: Mapping[str, str] = {}
    file: str = FILE
    old: str = ""
    new: str = ""


class Draft(Struct, frozen=True, kw_only=True):
    tree: Tree
    action: Literal["create", "improve", "copy"]
    is_free: bool  # nobody else's skill has that name


def drafted(proposals: Proposals, change: Change) -> Draft:
    """Raises Rejected with a sentence for the agent."""
    name, lock = checked_name(change.name), proposals.lock()
    theirs = proposals.original(name, lock) if name not in _own(lock) else None
    if change.action == "create":
        return _new(change, taken=name in _own(lock) or theirs is not None)
    mine = proposals.current(name, lock)
    if mine is not None:
        tree = _changed(mine, change)
        _demand_change(mine, tree)
        return Draft(tree=_named(tree, name), action="improve", is_free=theirs is None)
    if theirs is None:
        raise Rejected(f"there is no skill {name}; see skills_list")
    tree = _changed(theirs, change)
    _demand_change(theirs, tree)
    copy = name[: NAME_CHARS_MAX - len(COPY)].rstrip("-") + COPY
    if copy in _own(lock):
        raise Rejected(
            f"{name} is not yours to change, and {copy} is there already: improve that one"
        )
    return Draft(tree=_named(tree, copy), action="copy", is_free=False)


def _own(lock: Lock) -> frozenset[str]:
    return frozenset(name for name, pin in lock.agent.items() if pin.now.sha256)


def _new(change: Change, *, taken: bool) -> Draft:
    if taken:
        raise Rejected(f"there is a skill {change.name} already: improve it, or choose a new name")
    form = Form(name=change.name, description=change.description, body=change.instructions)
    tree = _with_files({FILE: written(form)}, change.files)
    form_of(tree)
    return Draft(tree=tree, action="create", is_free=True)


def _changed(tree: Tree, change: Change) -> Tree:
    if change.action == "patch":
        return _patched(tree, change)
    form = form_of(tree)
    form = replace(
        form,
        description=change.description or form.description,
        body=change.instructions or form.body,
    )
    return _with_files({**tree, FILE: written(form)}, change.files)


def _patched(tree: Tree, change: Change) -> Tree:
    file = safe_path(change.file)
    if file not in tree:
        raise Rejected(f"it has no file {file}; it has {', '.join(sorted(tree))[:500]}")
    try:
        text = tree[file].decode("utf-8")
    except UnicodeDecodeError as broken:
        raise Rejected(f"{file} is no text") from broken
    times = text.count(change.old)
    if times != 1:
        raise Rejected(f"old stands in {file} {times} times; it must fit exactly one place")
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
    """A tree whose SKILL.md says this name; raises Rejected when it keeps no rules any more."""
    form = parsed(tree[FILE])
    return tree if form.name == name else {**tree, FILE: written(replace(form, name=name))}


def _demand_change(before: Tree, after: Tree) -> None:
    if before == after:
        raise Rejected("that changes nothing")
