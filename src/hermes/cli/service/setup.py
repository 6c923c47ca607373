"""hermes gateway setup: a few questions on a terminal, then channels that people can reach."""

import getpass
import re
import secrets
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hermes.cli import config_set
from hermes.cli.channels_grammar import Channels
from hermes.cli.errors import DONE, FAILED, WRONG_USAGE, Usage
from hermes.cli.place import Place
from hermes.cli.service.bot import API_BASE, Known, Unasked, Unknown, check, has_form
from hermes.cli.service.install import install
from hermes.cli.service.lock import running
from hermes.cli.service.probe import standing
from hermes.cli.service.questions import Questions
from hermes.cli.service.service import Ground
from hermes.core.errors import Rejected
from hermes.settings import survey
from hermes.views.honest import visible

API_KEY = "HERMES_API_KEY"
API_HOST, API_PORT = "127.0.0.1", 8642
KEY_BYTES = 32
PLATFORMS = ("api", "telegram")
INSTEAD = """\
hermes: setup asks questions, and this is no terminal. Without one, say the answers
(hermes gateway setup --help), or set what they would:
  hermes config set HERMES_API_KEY -                  a long random text
  hermes config set platforms.api.port 8642
  hermes config set platforms.api.enabled true
  hermes config set platforms.telegram.token -        what @BotFather gave you
  hermes config set platforms.telegram.allowed_users '[12345678]'
  hermes config set platforms.telegram.enabled true
  hermes gateway install                              or: hermes gateway start
"""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What was said beforehand. What is None is asked; in silence it takes its default."""

    api: bool | None = None
    port: int | None = None
    telegram: bool | None = None
    token: str = field(default="", repr=False)
    people: tuple[int, ...] | None = None
    service: bool | None = None

    @property
    def some(self) -> bool:
        return self != Answers()


def run_setup(given: Channels, place: Place) -> int:
    terminal = place.console.stdin.isatty()
    answers = answers_of(given, place)
    if not (terminal or given.yes or answers.some):
        place.console.stderr.write(INSTEAD)
        return WRONG_USAGE
    asks = terminal and not given.yes
    try:
        return Setup(standing(place), questions_of(place, asks=asks), answers).run()
    except EOFError:
        place.console.tell("\nhermes: no more answers came; what was set until here stays")
        return FAILED


def questions_of(place: Place, *, asks: bool) -> Questions:
    """To a person; or to nobody, and then everything takes its default."""

    def tell(text: str) -> None:
        """Not dimmed as remarks are: a person chooses by it."""
        place.console.stderr.write(f"{visible(text)}\n")
        place.console.stderr.flush()

    if asks:
        return Questions(input, getpass.getpass, tell)
    return Questions(lambda _question: "", _no_secret, tell)


def _no_secret(_question: str) -> str:
    raise Rejected("its token is needed, and nobody can be asked. Say: --telegram-token-stdin")


def answers_of(given: Channels, place: Place) -> Answers:
    """From the options; the token is read here."""
    people = re.split(r"[\s,;]+", given.telegram_allow) if given.telegram_allow else []
    if not all(re.fullmatch(r"[1-9]\d{0,18}", word) for word in people):
        raise Usage("--telegram-allow takes numeric ids: 12345678,23456789")
    token = place.console.stdin.readline().strip() if given.telegram_token_stdin else ""
    if given.telegram_token_stdin and not has_form(token):
        raise Usage("--telegram-token-stdin: no line of standard input has the form of a token")
    wants = {None: None, "on": True, "off": False}
    telegram = True if token and given.telegram is None else wants[given.telegram]
    return Answers(
        api=wants[given.api],
        port=given.api_port,
        telegram=telegram,
        token=token,
        people=tuple(map(int, people)) if people else None,
        service={None: None, "install": True, "none": False}[given.service],
    )


@dataclass(frozen=True)
class Setup:
    """Each channel is written when its questions are answered, the switch that turns it on last."""

    ground: Ground
    questions: Questions
    answers: Answers = Answers()

    def run(self) -> int:
        self.channels()
        return self.last()

    def channels(self) -> None:
        self._overview()
        self._api()
        self._telegram()

    def _overview(self) -> None:
        platforms = self._platforms()
        names = (*PLATFORMS, *(name for name in platforms if name not in PLATFORMS))
        rows = [(name, "on" if _is_on(platforms.get(name, {})) else "off") for name in names]
        self.ground.place.console.table(("CHANNEL", "STATE"), rows)

    def _api(self) -> None:
        section = self._platforms().get("api", {})
        question = "Serve programs over HTTP, as OpenAI does?"
        if not self._agreed(self.answers.api, question, default=True):
            self._off("api", section)
            return
        port = self._port(section)
        if not section.get("key") and not self._secret(API_KEY):
            self._set(API_KEY, secrets.token_urlsafe(KEY_BYTES))
            self._tell(f"A key was made. Clients need it; it is {API_KEY} in .env")
        self._set("platforms.api.port", str(port))
        self._set("platforms.api.enabled", "true")

    def _telegram(self) -> None:
        section = self._platforms().get("telegram", {})
        wanted = self.answers.telegram
        if not self._agreed(wanted, "Talk to people on Telegram?", default=_is_on(section)):
            self._off("telegram", section)
            return
        token = self._new_token(section)
        said = self.answers.people
        people = (
            self.questions.numbers("Who may write to it (their numeric ids, with commas)")
            if said is None
            else list(said)
        )
        if token:
            self._set("platforms.telegram.token", token)
        if people:
            self._set("platforms.telegram.allowed_users", str(people))
        elif not section.get("allowed_users"):
            self._tell("Nobody is allowed yet. Later: hermes config set " + _ALLOW)
        self._set("platforms.telegram.enabled", "true")

    def _new_token(self, section: Mapping[str, object]) -> str:
        """Empty when the one that is there stays."""
        set_up = section.get("api_base")
        base = set_up if isinstance(set_up, str) and set_up else API_BASE
        if self.answers.token:
            if isinstance(check(self.answers.token, base), Unknown):
                raise Rejected("Telegram does not know this token. Ask @BotFather for it again")
            return self.answers.token
        if section.get("token") and self.questions.agreed("Keep its token?", default=True):
            return ""
        return self._token(base)

    def _agreed(self, said: bool | None, question: str, *, default: bool) -> bool:
        return self.questions.agreed(question, default=default) if said is None else said

    def _port(self, section: Mapping[str, object]) -> int:
        refuse = self._refuse_port(section)
        if self.answers.port is None:
            return self.questions.number("Port", default=_port(section), most=65_535, refuse=refuse)
        if why := refuse(self.answers.port):
            raise Rejected(f"{why}. Choose another one with --api-port")
        return self.answers.port

    def _token(self, api_base: str) -> str:
        def refuse(token: str) -> str:
            if not has_form(token):
                return "that is not the form of a token: digits, a colon, and about 35 signs"
            match check(token, api_base):
                case Known(name=name):
                    self._tell(f"This is @{name}")
                    return ""
                case Unknown():
                    return "Telegram does not know this token"
                case Unasked():
                    self._tell("Telegram cannot be asked from here now; the token was not checked")
                    return ""

        return self.questions.hidden("Its token, from @BotFather", refuse=refuse)

    def last(self) -> int:
        settings, problems = survey(self.ground.home, self.ground.place.environ)
        for problem in problems:
            self._tell(f"hermes: {problem}")
        if not settings.model.provider:
            self._tell("No model answers yet. Choose one: hermes model")
        if running(self.ground.home) is not None:
            self._tell("The gateway that runs does not know of it yet: hermes gateway restart")
            return DONE
        supervisor = self.ground.supervisor()
        if supervisor is not None and not supervisor.file.is_file():
            question = f"Have {supervisor.kind} keep it running, from now on?"
            if self._agreed(self.answers.service, question, default=True):
                return install(self.ground)
        self._tell("To start it: hermes gateway start")
        return DONE

    def _refuse_port(self, section: Mapping[str, object]) -> Callable[[int], str]:
        def refuse(port: int) -> str:
            if running(self.ground.home) is not None:
                return ""  # it may be our own
            host = section.get("host")
            return _taken(host if isinstance(host, str) and host else API_HOST, port)

        return refuse

    def _off(self, name: str, section: Mapping[str, object]) -> None:
        if _is_on(section):
            self._set(f"platforms.{name}.enabled", "false")

    def _set(self, key: str, value: str) -> None:
        config_set.assign(self.ground.place, key, value)

    def _secret(self, name: str) -> str:
        settings, _problems = survey(self.ground.home, self.ground.place.environ)
        return settings.secrets.get(name, "")

    def _platforms(self) -> Mapping[str, Mapping[str, object]]:
        settings, _problems = survey(self.ground.home, self.ground.place.environ)
        return settings.platforms

    def _tell(self, text: str) -> None:
        self.ground.place.console.tell(text)


_ALLOW = "platforms.telegram.allowed_users '[12345678]'"


def _is_on(section: Mapping[str, object]) -> bool:
    return bool(section) and section.get("enabled") is not False


def _port(section: Mapping[str, object]) -> int:
    port = section.get("port")
    return port if isinstance(port, int) and not isinstance(port, bool) else API_PORT


def _taken(host: str, port: int) -> str:
    """Why nobody can listen there; empty when somebody can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family):
            return ""
    except OSError as refused:
        return f"{host}:{port} cannot be used ({refused.strerror})"
