"""SKILL.md: what the format allows is read, everything else is refused with a sentence."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.errors import Rejected
from hermes.skills.form import Form, parsed, written
from tests.unit.skills.workshop import skill_md

WHOLE = """\
---
name: pdf-forms
description: "Fill in PDF forms: read, fill, check. Use for forms."
license: Apache-2.0
compatibility: Needs Python 3.11
allowed-tools: terminal read_file Bash(git:*)
metadata:
  author: somebody
  version: 1.0
---

# Fill in
"""


def test_everything_that_the_format_knows_is_read() -> None:
    form = parsed(WHOLE.encode())
    assert form == Form(
        name="pdf-forms",
        description="Fill in PDF forms: read, fill, check. Use for forms.",
        license="Apache-2.0",
        compatibility="Needs Python 3.11",
        allowed_tools=("terminal", "read_file", "Bash(git:*)"),
        metadata={"author": "somebody", "version": "1.0"},
        body="# Fill in\n",
    )


def test_windows_line_ends_and_a_byte_order_mark_are_no_harm() -> None:
    assert parsed(("\ufeff" + WHOLE.replace("\n", "\r\n")).encode()) == parsed(WHOLE.encode())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# no front matter", "first line must be ---"),
        ("---\nname: a\n", "close it with a line ---"),
        ("---\nname: a\n---\nx", "description is missing"),
        ("---\ndescription: a\n---\nx", "name is missing"),
        (skill_md("Big"), "is not a valid name for a skill"),
        (skill_md("a--b"), "is not a valid name for a skill"),
        (skill_md("-a"), "is not a valid name for a skill"),
        (skill_md("a" * 65), "65 characters, at most 64"),
        (skill_md("über"), "is not a valid name for a skill"),
        (skill_md("../../etc"), "is not a valid name for a skill"),
        (skill_md(description="d" * 1025), "at most 1,024"),
        (skill_md(body=" "), "has no instructions"),
        ("---\nname: a\nname: b\ndescription: d\n---\nx", "occurs twice"),
        ("---\nname: a\ndescription: d\nversion: 1\n---\nx", "unknown keys: version"),
        ("---\nname: a\ndescription: some: thing\n---\nx", "needs quotes"),
        ("---\nname: a\ndescription: [d]\n---\nx", "description must be a text"),
        ("---\nname: a\ndescription: d\nmetadata: {a: {b: c}}\n---\nx", "nested too deep"),
        ("---\nname: &a a\ndescription: *a\n---\nx", "aliases"),
        ("---\nname: a\ndescription: !!python/object:os.system d\n---\nx", ""),
        ("---\nname: a\ndescription: d\ncompatibility: " + "c" * 501 + "\n---\nx", "at most 500"),
        ("---\n" + "[" * 5_000 + "\n---\nx", "nested too deep"),
        ("---\n" + "- " * 5_000 + "\n---\nx", "nested too deep"),
        ("---\n" + "{a: " * 3_000 + "\n---\nx", "nested too deep"),
    ],
)
def test_what_breaks_a_rule_is_told_with_the_fix(text: str, said: str) -> None:
    began = time.process_time()
    if said:
        with pytest.raises(Rejected, match=said):
            parsed(text.encode())
    else:
        assert parsed(text.encode()).description == "d"
    assert time.process_time() - began < 1


def test_a_file_that_is_too_large_or_no_text_is_refused() -> None:
    with pytest.raises(Rejected, match="references/"):
        parsed(skill_md(body="x" * 64_000).encode())
    with pytest.raises(Rejected, match="UTF-8"):
        parsed(b"---\n\xff\n---\n")


@given(
    st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=80),
    st.text(st.characters(exclude_categories=("C", "Z")), max_size=80),
)
def test_what_is_written_reads_back_the_same(description: str, license_: str) -> None:
    form = Form(name="a", description=description, license=license_, body="x\n")
    assert parsed(written(form)) == form


def test_the_reference_validator_agrees_with_every_built_in_skill() -> None:
    reference = pytest.importorskip("skills_ref")
    builtin = Path(__file__).parents[3] / "src" / "hermes" / "skills" / "builtin"
    problems = {place.name: reference.validate(place) for place in sorted(builtin.iterdir())}
    assert {name: found for name, found in problems.items() if found} == {}
    assert len(problems) >= 12


def test_the_reference_validator_takes_what_we_write(tmp_path: Path) -> None:
    reference = pytest.importorskip("skills_ref")
    form = Form(
        name="made-here",
        description='Says "yes": always, # and more',
        license="MIT",
        metadata={"version": "1.0"},
        body="x\n",
    )
    (tmp_path / "made-here").mkdir()
    (tmp_path / "made-here" / "SKILL.md").write_bytes(written(form))
    assert reference.validate(tmp_path / "made-here") == []
