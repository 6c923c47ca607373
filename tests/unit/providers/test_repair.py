"""Calls that a model wrote badly: repaired beyond doubt, or reported."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.ports import RawCall, ToolSpec
from hermes.providers.repair import MENDED_CHARS_MAX, repaired

NAMES = ("terminal", "read_file", "write_file", "web_search", "memory")
KNOWN = {name: ToolSpec(name=name, description="", parameters="{}") for name in NAMES}


def mended(arguments: str) -> object:
    tool, text, fault = repaired(RawCall("terminal", arguments), KNOWN)
    assert (tool, fault) == ("terminal", "")
    return json.loads(text)


def fault_of(arguments: str, tool: str = "terminal") -> str:
    _, text, fault = repaired(RawCall(tool, arguments), KNOWN)
    assert text == "{}"
    assert fault
    return fault


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("", {}),
        ("  \n", {}),
        ("null", {}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```\n{"a": 1}```', {"a": 1}),
        ('{"a": [1, 2,], "b": {"c": 1,},}', {"a": [1, 2], "b": {"c": 1}}),
        ('{"a": 1,\n }', {"a": 1}),
        ('{"a": 1}}', {"a": 1}),
        ('{"a": 1}</tool_call>', {"a": 1}),
        ('{"a": 1};\n', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('"\\"{\\\\\\"a\\\\\\": 1}\\""', {"a": 1}),
        ('{"a": True, "b": None, "c": False}', {"a": True, "b": None, "c": False}),
        ("{'a': 'it\\'s', 'b': 'say \"x\"'}", {"a": "it's", "b": 'say "x"'}),
        ('{"text": "one\ntwo\tthree"}', {"text": "one\ntwo\tthree"}),
        ('{"pattern": "\\d+ \\w"}', {"pattern": "\\d+ \\w"}),
        ('{"a": "True, None, }"}', {"a": "True, None, }"}),
        ('{"a": "x", }', {"a": "x"}),
    ],
)
def test_a_slip_of_the_pen_is_mended(written: str, meant: object) -> None:
    assert mended(written) == meant


@pytest.mark.parametrize(
    "written",
    ['{"command": "rm -rf /tmp/x', '{"a": 1', '{"a": [1, 2', "{", '{"a": "b\\', "{'a': 'b"],
)
def test_a_call_that_was_cut_off_is_never_completed(written: str) -> None:
    assert "cut off" in fault_of(written)


@pytest.mark.parametrize(
    "written",
    [
        "ls -la",
        "[1, 2]",
        "3",
        '"text"',
        '{"a": 1}{"b": 2}',
        '{"a": 1} {"a": 2}',
        '{"a": 1} and then some more words',
        "{a: 1}",
        '{"a": undefined}',
        '{"a": NaN}',
        '{"a" 1}',
        '{"a": 1]',
        '{"a": 1,,}',
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_what_could_mean_anything_is_reported_with_an_excerpt(written: str) -> None:
    fault = fault_of(written)
    assert "Call the tool again" in fault
    assert " ".join(written[:20].split()) in fault or "cut off" in fault
    assert len(fault) < 400


def test_what_is_too_long_to_mend_is_reported() -> None:
    assert str(MENDED_CHARS_MAX + 2) in fault_of("{" + "x" * (MENDED_CHARS_MAX + 1))
    long = json.dumps({"content": "x" * MENDED_CHARS_MAX})
    assert repaired(RawCall("write_file", long), KNOWN) == ("write_file", long, "")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("terminal", "terminal"),
        ("Terminal", "terminal"),
        (" terminal\n", "terminal"),
        ("functions.terminal", "terminal"),
        ("functions.terminal:0", "terminal"),
        ("default_api.read_file", "read_file"),
        ("tools/read-file", "read_file"),
        ("readFile", "read_file"),
        ("READ_FILE", "read_file"),
        ("web-search", "web_search"),
    ],
)
def test_a_name_that_can_mean_only_one_tool_is_understood(written: str, meant: str) -> None:
    assert repaired(RawCall(written, "{}"), KNOWN) == (meant, "{}", "")


def test_a_name_that_could_mean_two_tools_is_not_guessed() -> None:
    twins = dict.fromkeys(("read_file", "readfile"), KNOWN["memory"])
    assert repaired(RawCall("read_file", "{}"), twins)[0] == "read_file"
    tool, _, fault = repaired(RawCall("ReadFile", "{}"), twins)
    assert tool == "ReadFile"
    assert "There is no tool named “ReadFile”" in fault


def test_an_unknown_name_is_told_the_closest_ones() -> None:
    tool, text, fault = repaired(RawCall("reed_file", '{"path": "/a"}'), KNOWN)
    assert (tool, text) == ("reed_file", '{"path": "/a"}')
    assert "read_file" in fault
    assert "web_search" not in fault
    for name in NAMES:
        assert name in repaired(RawCall("zzzzzzzz", "{}"), KNOWN)[2]
    assert "There are none" in repaired(RawCall("x", "{}"), {})[2]
    assert repaired(RawCall("", "{}"), KNOWN)[2]


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
objects = st.dictionaries(st.text(max_size=9), values, max_size=5)
loose = st.text(alphabet="{}[]\"'\\,:` \n\tabTrueFalseNone01.u", max_size=60)


@given(objects, st.sampled_from([None, 2]), st.booleans(), st.sampled_from(NAMES))
def test_what_is_valid_is_never_touched(
    value: object, indent: int | None, ascii_only: bool, tool: str
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only, allow_nan=False)
    assert repaired(RawCall(tool, text), KNOWN) == (tool, text, "")


@given(st.one_of(st.text(st.characters()), loose, objects.map(str), objects.map(repr)), st.text())
def test_anything_gives_an_object_or_a_fault_with_one_and_never_raises(
    arguments: str, tool: str
) -> None:
    for name in (tool, "terminal"):
        named, text, fault = repaired(RawCall(name, arguments), KNOWN)
        assert isinstance(json.loads(text), dict)
        assert named in KNOWN or fault
        json.dumps([named, text, fault], ensure_ascii=False).encode()


@given(objects, st.integers(1, 40))
def test_no_beginning_of_a_call_is_taken_for_a_call(value: object, missing: int) -> None:
    text = json.dumps(value)
    cut = text[: max(1, len(text) - missing)]
    _, _, fault = repaired(RawCall("terminal", cut), KNOWN)
    assert fault


@given(objects)
def test_a_mended_object_is_the_one_that_was_meant(value: dict[str, object]) -> None:
    text = json.dumps(value)
    for damaged in (f"```json\n{text}\n```", json.dumps(text), text + "}", f"{text}\n\n"):
        assert mended(damaged) == value
