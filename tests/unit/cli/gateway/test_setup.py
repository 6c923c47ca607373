"""The questions of a set-up, and what is written when they are answered."""

import stat
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socket import create_server

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.cli.context import CliContext
from hermes.cli.gateway.service.service import ServiceContext
from hermes.cli.gateway.setup import COMMAND, ChannelSetup, run
from hermes.cli.output.questions import ATTEMPTS_MAX, Questions
from hermes.core.errors import Rejected
from hermes.settings import survey
from unit.cli.stage import Stage, stage

GOOD, BAD, BROKEN = (f"12345678:{letter * 35}" for letter in "gbx")
API_KEY, TOKEN = "HERMES_API_KEY", "TELEGRAM_BOT_TOKEN"


class BotApi(BaseHTTPRequestHandler):
    """Knows one bot. Another token is refused, a third gets an answer that is none."""

    def do_GET(self) -> None:
        status = {f"/bot{GOOD}/getMe": 200, f"/bot{BROKEN}/getMe": 502}.get(self.path, 401)
        body = {200: b'{"ok":true,"result":{"id":1,"username":"my_bot"}}'}.get(status, b"<html>")
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Tokens are in the addresses."""


@pytest.fixture(scope="module")
def bot_api() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), BotApi) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        serving.join()


class Person:
    """Answers in this order, and remembers what was asked and told."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []
        self.told: list[str] = []

    def answer(self, prompt: str) -> str:
        self.asked.append(prompt)
        if not self._answers:
            raise EOFError
        return self._answers.pop(0)

    def questions(self) -> Questions:
        return Questions(self.answer, self.answer, self.told.append)

    @property
    def done(self) -> bool:
        return not self._answers


def free_port() -> int:
    with create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def set_up(home: Path, person: Person, **environ: str) -> Stage:
    console = stage()
    context = CliContext(home=home, environ=environ, console=console, clock=time.time)
    ground = ServiceContext(context=context, platform="plan9")
    assert ChannelSetup(ground, person.questions()).run() == 0
    assert person.done
    return console


def test_the_api_is_turned_on_with_a_key_that_nobody_sees(tmp_path: Path) -> None:
    port = free_port()
    person = Person("", str(port), "n")
    console = set_up(tmp_path, person)
    settings, problems = survey(tmp_path, {})
    assert problems == ()
    assert settings.platforms == {"api": {"port": port, "enabled": True}}
    key = settings.secrets[API_KEY]
    assert len(key) >= 40
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
    shown = console.stdout.getvalue() + console.stderr.getvalue()
    assert key not in shown + (tmp_path / "config.yaml").read_text()
    assert API_KEY in shown


def test_a_key_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"{API_KEY}=mine\n")
    set_up(tmp_path, Person("y", str(free_port()), ""))
    assert survey(tmp_path, {})[0].secrets[API_KEY] == "mine"


def test_a_key_of_the_environment_stays(tmp_path: Path) -> None:
    set_up(tmp_path, Person("y", str(free_port()), ""), HERMES_API_KEY="elsewhere")
    assert not (tmp_path / ".env").exists()


def test_a_port_in_use_is_asked_for_again(tmp_path: Path) -> None:
    port = free_port()
    with create_server(("127.0.0.1", 0)) as taken:
        used = taken.getsockname()[1]
        person = Person("y", str(used), "0", "70000", "x", str(port), "n")
        set_up(tmp_path, person)
    assert "is taken by another program" in person.told[0]
    assert len(person.told) == 4
    assert survey(tmp_path, {})[0].platforms["api"]["port"] == port


def test_a_bot_is_checked_and_written(tmp_path: Path, bot_api: str) -> None:
    (tmp_path / "config.yaml").write_text(f"platforms: {{telegram: {{api_base: '{bot_api}'}}}}\n")
    person = Person("n", "y", "no token", BAD, GOOD, "x", "11, 22", "n")
    console = set_up(tmp_path, person)
    assert "does not look like a token" in person.told[0]
    assert person.told[1] == "Telegram does not know this token"
    assert "This is @my_bot" in console.stderr.getvalue()
    settings, problems = survey(tmp_path, {})
    assert problems == ()
    assert settings.platforms["telegram"] == {
        "api_base": bot_api,
        "enabled": True,
        "allowed_users": [11, 22],
    }
    assert settings.secrets[TOKEN] == GOOD
    shown = console.stdout.getvalue() + console.stderr.getvalue() + "".join(person.told)
    assert GOOD not in shown + (tmp_path / "config.yaml").read_text()
    assert BAD not in shown


def test_what_is_set_is_shown_kept_or_turned_off(tmp_path: Path, bot_api: str) -> None:
    bot = f"{{token: '{GOOD}', api_base: '{bot_api}/bot', enabled: true}}"
    config = f"platforms: {{api: {{enabled: true, key: k}}, telegram: {bot}}}\n"
    (tmp_path / "config.yaml").write_text(config)
    person = Person("n", "", "", "")
    console = set_up(tmp_path, person)
    assert "api       on" in console.stdout.getvalue()
    assert "No one may write to it yet" in console.stderr.getvalue()
    platforms = survey(tmp_path, {})[0].platforms
    assert platforms["api"]["enabled"] is False
    assert platforms["telegram"]["token"] == GOOD


def test_a_token_that_is_there_and_unknown_is_asked_for_again(tmp_path: Path, bot_api: str) -> None:
    bot = f"{{token: '{BAD}', api_base: '{bot_api}', enabled: true}}"
    (tmp_path / "config.yaml").write_text(f"platforms: {{telegram: {bot}}}\n")
    console = set_up(tmp_path, Person("n", "y", "y", GOOD, "11", "n"))
    assert "Telegram does not know this token" in console.stderr.getvalue()
    settings, _problems = survey(tmp_path, {})
    assert settings.secrets[TOKEN] == GOOD
    assert "token" not in settings.platforms["telegram"], "the wrong one does not win any more"


def test_what_comes_next_is_said(tmp_path: Path) -> None:
    console = set_up(tmp_path, Person("n", "n"))
    assert "Choose one: hermes model" in console.stderr.getvalue()
    assert "hermes gateway start" in console.stderr.getvalue()


def test_without_a_terminal_the_commands_are_named(tmp_path: Path) -> None:
    console = stage(stdin="y\n")
    context = CliContext(home=tmp_path, environ={}, console=console, clock=time.time)
    assert run(COMMAND.parse([]), context) == 2
    said = console.stderr.getvalue()
    for command in ("HERMES_API_KEY -", "TELEGRAM_BOT_TOKEN -", "hermes gateway install"):
        assert command in said
    assert list(tmp_path.iterdir()) == []


def test_no_question_is_asked_for_ever() -> None:
    person = Person(*["maybe"] * ATTEMPTS_MAX)
    with pytest.raises(Rejected):
        person.questions().agreed("Well?", default=True)
    assert person.done
    assert person.asked[0] == "Well? [Y/n] "


@pytest.mark.parametrize(
    ("answer", "default", "agreed"),
    [("", True, True), ("", False, False), ("Y", False, True), ("no", True, False)],
)
def test_a_yes_is_a_yes(answer: str, default: bool, agreed: bool) -> None:
    assert Person(answer).questions().agreed("?", default=default) is agreed


@given(st.lists(st.integers(1, 10**15), max_size=5))
def test_numbers_are_read_as_they_are_written(numbers: list[int]) -> None:
    person = Person(", ".join(map(str, numbers)))
    assert person.questions().numbers("Who") == numbers
