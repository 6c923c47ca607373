"""The small parts of the window: questions, calls, the status line, skins, completion, history."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from hermes.core.ids import CallId, SessionId, SessionKey
from hermes.core.messages import Outcome, Usage
from hermes.core.store import ConversationRow, UsageSum
from hermes.tui.calls import CallView, ago, call_view, cut_right, ending, in_full, lasting, unfolded
from hermes.tui.colours import depth_of
from hermes.tui.complete import InputCompleter, commands, files, word_at
from hermes.tui.history import ENTRIES_MAX, InputHistory, keeps, parsed
from hermes.tui.picker import SHOWN_MAX, Picker
from hermes.tui.questions import answers, question_card
from hermes.tui.skins import CONTRAST, DARK, LIGHT, MONO, SKINS, chosen
from hermes.tui.status import StatusLine, cost_of, fitted, text_of
from hermes.views.amounts import cells_of
from hermes.views.scene import Offered
from unit.tui.events import KEY, call, question, reply

OFFERED = (
    Offered(name="/new", summary="Begin a new conversation"),
    Offered(name="/model", summary="Change the model", argument="[NAME]"),
    Offered(name="/renew", summary="Again"),
)


def test_the_usual_answers_have_letters_and_others_numbers() -> None:
    assert [key for key, _, _ in question_card(question()).answers] == ["y", "a", "n"]
    from_a_tool = reply("Which?", "question")
    several = type(from_a_tool)(
        id=from_a_tool.id,
        session=from_a_tool.session,
        address=from_a_tool.address,
        text="Which?",
        kind="question",
        buttons=(("Red", "red"), ("Blue", "blue"), ("Yes", "yes")),
    )
    assert [key for key, _, _ in answers(several)] == ["1", "2", "y"]


def test_a_call_tells_its_command_time_and_exit() -> None:
    view = call_view(call("false"))
    assert view.about == "false"
    failed = CallView(
        id=CallId("c"),
        tool="terminal",
        about="false",
        is_command=True,
        output="x\n[exit status 1]",
        started_at=1.0,
        ended_at=3.5,
        outcome=Outcome.FAILED,
    )
    assert ending(failed, 99.0) == "2.5s  exit 1"
    lines = [row.text for row in unfolded(failed, 99.0, 10, 80)]
    assert lines == ["terminal: exit 1, 2.5s", "$ false", "  x", "  [exit status 1]"]
    assert in_full([failed], "", 99.0).startswith("terminal: exit 1")
    assert in_full([failed], "2", 99.0) == "There is no such call."


def test_times_are_short() -> None:
    assert [lasting(s) for s in (0.12, 42.4, 75, 3700)] == ["0.1s", "42s", "1m 15s", "1h 01m"]
    assert [ago(s) for s in (-1, 5, 70, 7_200, 200_000)] == ["0 s", "5 s", "1 min", "2 h", "2 d"]


@given(st.text(max_size=60), st.integers(min_value=1, max_value=40))
def test_a_cut_line_fits(text: str, width: int) -> None:
    assert cells_of(cut_right(text, width)) <= max(width, 1)


STATUS = StatusLine(
    session="main",
    model="openrouter:someone/a-model-with-a-name",
    filled=12_345,
    window=128_000,
    cost="$0.42",
    waiting=2,
    sandbox="sandboxed",
    asking=1,
    mode="steer",
    link="own engine",
)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_the_status_line_fits_and_keeps_what_matters_most(width: int) -> None:
    text = text_of(fitted(STATUS, width))
    assert len(text) <= width or " · " not in text
    assert "approval waiting" in text


def test_a_wide_status_line_has_all_of_it() -> None:
    text = text_of(fitted(STATUS, 200))
    for part in ("main", "a-model", "12.3k/128k 10%", "$0.42", "2 queued", "sandboxed", "^T steer"):
        assert part in text


def test_a_cost_that_is_not_known_in_full_says_so() -> None:
    spent = [
        UsageSum(by="model", name="a", model="a", calls=1, usage=Usage(input=1)),
        UsageSum(by="model", name="b", model="b", calls=1, usage=Usage(input=1)),
    ]
    assert cost_of(spent, lambda model, _u, _c: 0.5 if model == "a" else None) == "$0.50+"
    assert cost_of(spent, lambda _m, _u, _c: None) == ""
    assert cost_of(spent, lambda _m, _u, _c: 0.0) == ""


def test_a_skin_is_found_by_name_and_by_what_the_terminal_says() -> None:
    assert chosen("contrast", {}) is CONTRAST
    assert chosen("auto", {"COLORFGBG": "0;15"}) is LIGHT
    assert chosen("auto", {"COLORFGBG": "15;default;0"}) is DARK
    assert chosen("auto", {}) is DARK
    assert chosen("light", {"NO_COLOR": "1"}) is MONO
    assert set(SKINS) == {"dark", "light", "contrast", "mono"}


def test_colours_degrade_with_the_terminal() -> None:
    assert depth_of({"TERM": "xterm"}) == 4
    assert depth_of({"TERM": "tmux-256color"}) == 8
    assert depth_of({"TERM": "xterm", "COLORTERM": "truecolor"}) == 24
    assert depth_of({"TERM": "xterm-256color", "NO_COLOR": "1"}) == 1


def test_commands_that_begin_with_the_word_come_first() -> None:
    assert [option.text for option in commands("/ne", OFFERED)][:2] == ["/new", "/renew"]
    assert commands("/mod", OFFERED)[0].text == "/model "
    assert "/skin " in [option.text for option in commands("/", OFFERED)]


def test_files_are_found_under_the_folder_and_not_in_its_history(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main one.py").touch()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "main").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    found = [option.text for option in files("main", tmp_path)]
    assert found == ['@"src/main one.py"']
    assert next(option.text for option in files("sr", tmp_path)) == "@src/"
    assert list(files("x", tmp_path / "missing")) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/mo", ("command", "/mo")),
        ("/model x", None),
        ("see @src/m", ("file", "src/m")),
        ("me@example", None),
        ("hello", None),
    ],
)
def test_what_may_be_completed(text: str, found: tuple[str, str] | None) -> None:
    assert word_at(text) == found


def test_a_completion_stands_in_the_place_of_the_word(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    words = InputCompleter(lambda: OFFERED, tmp_path)
    [first] = words.get_completions(Document("read @not"), CompleteEvent())
    assert (first.text, first.start_position) == ("@notes.txt", -4)


def test_history_is_kept_for_its_owner_and_without_secrets(tmp_path: Path) -> None:
    file = tmp_path / "history"
    history = InputHistory(file)
    for text in ("one", "two\nlines", " not this", "sk-" + "a1" * 20, "one"):
        history.store_string(text)
    assert list(InputHistory(file).load_history_strings()) == ["one", "two\nlines"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert not keeps("key: ghp_" + "a" * 36)


def test_a_long_history_is_shortened_and_a_torn_line_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "history"
    file.write_text('"torn\n' + "".join(f'"line {n}"\n' for n in range(3 * ENTRIES_MAX)))
    texts = list(InputHistory(file).load_history_strings())
    assert len(texts) == ENTRIES_MAX
    assert texts[0] == f"line {3 * ENTRIES_MAX - 1}"
    assert file.read_text().count("\n") == ENTRIES_MAX
    assert parsed(["3", '"a"', "{"]) == ["a"]


def row(id_: str, title: str, at: float, key: SessionKey = KEY) -> ConversationRow:
    return ConversationRow(id=SessionId(id_), key=key, title=title, rows=3, opening="", at=at)


def test_the_picker_filters_moves_and_picks() -> None:
    rows = [row("a", "Apples", 3.0), row("b", "Pears", 2.0), row("c", "Apple pie", 1.0)]
    picker = Picker(rows=rows, here=KEY, current=SessionId("a"), called=lambda key: key)
    assert [each.id for each in picker.found("app")] == ["a", "c"]
    picker.move(1, "app")
    picked = picker.picked("app")
    assert picked is not None
    assert picked.id == "c"
    picker.move(9, "app")
    assert picker.at == 1
    assert picker.picked("nothing") is None
    many = [row(str(n), f"t{n}", n) for n in range(30)]
    picker = Picker(rows=many, here=KEY, current=SessionId(""), called=lambda key: key, at=29)
    lines = picker.lines("", 40.0, 60)
    assert len(lines) == SHOWN_MAX
    assert lines[-1][0]
    assert all(len(line) <= 58 for _, line in lines)


def test_a_long_usage_leaves_room_for_what_the_command_does() -> None:
    long = Offered(name="/memory", summary="Show the memory", argument="[undo [N] | " + "x" * 90)
    [option] = commands("/mem", [long])
    assert len(option.shown) == 30
    assert option.about == "Show the memory"
