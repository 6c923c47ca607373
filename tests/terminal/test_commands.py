"""Commands in the window: all of them are listed, and a slip is corrected."""

from pathlib import Path

from terminal.emulator import Emulator
from terminal.stage import stage


def test_a_slip_is_corrected_and_help_lists_the_commands_of_the_window(tmp_path: Path) -> None:
    program = stage(tmp_path)
    seen = Emulator(program.command(), program.env(), tmp_path)
    try:
        seen.until("own engine")
        seen.type("/skn\r")
        corrected = seen.until("Did you mean /skin?")
        assert "There is no command /skn." in corrected
        seen.type("/help keys\r")
        seen.until("/keys: List the keys of this window.")
        seen.type("/exit\r")
        assert seen.ended() == 0
    finally:
        seen.close()
    assert program.run("turns", "list", "--json").document == [], "no model was asked"
    told = program.run("chat", "-q", "/help").out
    for name in ("/skin", "/keys", "/mode"):
        assert f"\n{name}" in told
