"""`patch`: several edits and several files, all or nothing, and what is known after a crash."""

import pytest

from hermes.core.errors import ToolFailed
from hermes.tools.files.patch_text import parse_patch
from tests.unit.tools.tool_context import Desk

PATCH = """*** Begin Patch
*** Update File: one.py
@@ def b
 def b():
-    return 1
+    return 2
*** Add File: sub/new.py
+first
+
+third
*** Delete File: old.py
*** End Patch"""

UNIFIED = """diff --git a/one.py b/one.py
index 123..456 100644
--- a/one.py
+++ b/one.py
@@ -3,2 +3,3 @@ def b
 def b():
-    return 1
+    # two
+    return 2
--- /dev/null
+++ b/sub/new.py
@@ -0,0 +1,2 @@
+first
+second
--- a/old.py
+++ /dev/null
@@ -1 +0,0 @@
-old
"""


@pytest.fixture
def files(host: Desk) -> Desk:
    (host.place / "one.py").write_text("def a():\n    return 1\ndef b():\n    return 1\n")
    (host.place / "old.py").write_text("old\n")
    return host


async def test_one_edit_of_one_file(files: Desk) -> None:
    result = await files.do("patch", path="one.py", old_string="def a()", new_string="def z()")
    assert result.text == f"Patched {files.place}/one.py (line 1)."
    assert (files.place / "one.py").read_text().startswith("def z():\n")


async def test_several_edits_of_one_file_happen_together_or_not_at_all(files: Desk) -> None:
    before = (files.place / "one.py").read_text()
    good = {"old_string": "def a", "new_string": "def c"}
    bad = {"old_string": "nowhere", "new_string": "x"}
    with pytest.raises(ToolFailed, match=r"Edit 2: .*\nNothing was changed"):
        await files.do("patch", path="one.py", edits=[good, bad])
    assert (files.place / "one.py").read_text() == before
    every = {"old_string": "return 1", "new_string": "return 3", "replace_all": True}
    result = await files.do("patch", path="one.py", edits=[good, every])
    assert result.text.endswith("(line 1; line 2, 2 places).")
    assert (
        files.place / "one.py"
    ).read_text() == "def c():\n    return 3\ndef b():\n    return 3\n"


async def test_a_patch_text_changes_adds_and_deletes(files: Desk) -> None:
    result = await files.do("patch", patch=PATCH, mode="patch")
    assert [line.split()[0] for line in result.text.splitlines()] == [
        "Patched",
        "Created",
        "Deleted",
    ]
    assert (
        files.place / "one.py"
    ).read_text() == "def a():\n    return 1\ndef b():\n    return 2\n"
    assert (files.place / "sub/new.py").read_text() == "first\n\nthird\n"
    assert not (files.place / "old.py").exists()


async def test_a_unified_diff_is_understood_too(files: Desk) -> None:
    await files.do("patch", patch=UNIFIED)
    assert (files.place / "one.py").read_text() == (
        "def a():\n    return 1\ndef b():\n    # two\n    return 2\n"
    )
    assert (files.place / "sub/new.py").read_text() == "first\nsecond\n"
    assert not (files.place / "old.py").exists()


async def test_a_patch_of_several_files_changes_none_when_one_does_not_fit(files: Desk) -> None:
    (files.place / "old.py").unlink()
    with pytest.raises(ToolFailed, match=r"old\.py does not exist"):
        await files.do("patch", patch=PATCH)
    assert "return 2" not in (files.place / "one.py").read_text()
    assert not (files.place / "sub").exists()


async def test_dos_line_ends_stay(files: Desk) -> None:
    (files.place / "dos.txt").write_bytes(b"a\r\nb\r\nc\r\n")
    await files.do("patch", path="dos.txt", old_string="a\nb", new_string="x\ny\nz")
    assert (files.place / "dos.txt").read_bytes() == b"x\r\ny\r\nz\r\nc\r\n"


async def test_what_is_no_text_is_refused(files: Desk) -> None:
    (files.place / "latin").write_bytes("gr\u00fcn".encode("latin-1") + b" text" * 20)
    with pytest.raises(ToolFailed, match="not UTF-8"):
        await files.do("patch", path="latin", old_string="gr", new_string="x")
    (files.place / "bin").write_bytes(b"\x00\x01")
    with pytest.raises(ToolFailed, match="binary"):
        await files.do("patch", path="bin", old_string="a", new_string="x")
    with pytest.raises(ToolFailed, match="does not exist"):
        await files.do("patch", path="none", old_string="a", new_string="x")


async def test_after_a_crash_a_patch_that_did_not_happen_happens_once(files: Desk) -> None:
    arguments = {"path": "one.py", "old_string": "def a", "new_string": "def z"}
    found = await files.recover("patch", "lost-1", **arguments)
    assert found is not None
    assert found.text.startswith("Patched")
    again = await files.recover("patch", "lost-1", **arguments)
    assert again is not None
    assert again.text.startswith("Done before the interruption")
    assert (files.place / "one.py").read_text().count("def z") == 1


async def test_after_a_crash_a_half_done_patch_of_several_files_is_completed(files: Desk) -> None:
    (files.place / "one.py").write_text("def a():\n    return 1\ndef b():\n    return 2\n")
    found = await files.recover("patch", "lost-1", patch=PATCH)
    assert found is not None
    assert found.text.splitlines()[0].startswith("Created")
    assert not (files.place / "old.py").exists()


@pytest.mark.parametrize(
    ("old", "new"),
    [("def a", "def a_really"), ("neither", "nor"), ("return 1", "return 1")],
    ids=["new contains old", "none is there", "nothing to do"],
)
async def test_after_a_crash_what_cannot_be_told_is_not_guessed(
    files: Desk, old: str, new: str
) -> None:
    (files.place / "one.py").write_text("def a_really():\n    return 1\n")
    before = (files.place / "one.py").read_text()
    assert (
        await files.recover("patch", "lost-1", path="one.py", old_string=old, new_string=new)
        is None
    )
    assert (files.place / "one.py").read_text() == before


async def test_an_added_file_with_other_content_is_not_taken_for_ours(files: Desk) -> None:
    text = "*** Begin Patch\n*** Add File: one.py\n+other\n*** End Patch"
    with pytest.raises(ToolFailed, match="exists already"):
        await files.do("patch", patch=text)
    assert await files.recover("patch", "lost-1", patch=text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no file"),
        ("*** Begin Patch\n*** End Patch", "no file"),
        ("hello", "is before the first file"),
        ("*** Begin Patch\n*** Rename File: x", "not understood"),
        ("*** Update File: x\n@@\n*strange", "begins with neither"),
        ("*** Update File: x\n", "no hunk"),
        ("*** Update File: x\n@@\n same", "changes nothing"),
        ("*** Add File: x\nno plus", "begin with +"),
        ("*** Delete File: x\n*** Delete File: x", "named twice"),
    ],
)
def test_a_patch_text_that_is_not_understood_is_refused_by_the_line(text: str, said: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        parse_patch(text)
    assert said in str(failed.value)


def test_hunks_keep_their_anchors_lines_and_blank_context() -> None:
    (change,) = parse_patch("*** Update File: x\n@@ def f\n a\n\n-b\n+c\n@@\n-d\n")
    first, second = change.edits
    assert (first.old, first.new, first.anchor) == ("a\n\nb", "a\n\nc", "def f")
    assert (second.old, second.new) == ("d\n", "")
    (change,) = parse_patch("--- a/x\n+++ b/x\n@@ -7,2 +7,2 @@ somewhere\n a\n-b\n+c\n")
    assert change.edits[0].line == 7
    assert change.edits[0].anchor == ""


async def test_a_patch_tells_people_what_it_changed(files: Desk) -> None:
    result = await files.do("patch", patch=PATCH)
    assert "-    return 1\n+    return 2" in result.diff
    assert "+++ /dev/null" in result.diff
    assert "return 2" not in result.text
