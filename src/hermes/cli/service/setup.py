"""hermes gateway setup: a few questions on a terminal, then channels that people can reach."""

import getpass
import secrets
import socket
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hermes.cli import config_set, grammar
from hermes.cli.errors import DONE, FAILED, WRONG_USAGE
from hermes.cli.place import Place
from hermes.cli.service.bot import API_BASE, Known, Unasked, Unknown, check, has_form
from hermes.cli.service.install import install
from hermes.cli.service.lock import running
from hermes.cli.service.probe import standing
from hermes.cli.service.questions import Questions
from hermes.cli.service.service import Ground
from hermes.settings import survey

API_KEY = "HERMES_API_KEY"
API_HOST, API_PORT = "127.0.0.1", 8642
KEY_BYTES = 32
PLATFORMS = ("api", "telegram")
INSTEAD = """\
hermes: setup asks questions, and this is no terminal. Without one:
  hermes config set HERMES_API_KEY -                  a long random text
  hermes config set platforms.api.port 8642
  hermes config set platforms.api.enabled true
  hermes config set platforms.telegram.token -        what @BotFather gave you
  hermes config set platforms.telegram.allowed_users '[12345678]'
  hermes config set platforms.telegram.enabled true
  hermes gateway install                              or: hermes gateway start
"""


def run_setup(_given: Namespace, place: Place) -> int:
    if not place.console.stdin.isatty():
        place.console.stderr.write(INSTEAD)
        return WRONG_USAGE
    ground = standing(place)
    try:
        return Setup(ground, Questions(input, getpass.getpass, place.console.tell)).run()
    except EOFError:
        place.console.tell("\nhermes: no more answers came; what was set until here stays")
        return FAILED


@dataclass(frozen=True)
class Setup:
    """Each channel is written when its questions are answered, the switch that turns it on last."""

    ground: Ground
    questions: Questions

    def run(self) -> int:
        self._overview()
        self._api()
        self._telegram()
        return self._last()

    def _overview(self) -> None:
        platforms = self._platforms()
        names = (*PLATFORMS, *(name for name in platforms if name not in PLATFORMS))
        rows = [(name, "on" if _is_on(platforms.get(name, {})) else "off") for name in names]
        self.ground.place.console.table(("CHANNEL", "STATE"), rows)

    def _api(self) -> None:
        section = self._platforms().get("api", {})
        question = "Serve programs over HTTP, as OpenAI does?"
        if not self.questions.agreed(question, default=True):
            self._off("api", section)
            return
        port = self.questions.number(
            "Port", default=_port(section), most=65_535, refuse=self._refuse_port(section)
        )
        if not section.get("key") and not self._secret(API_KEY):
            self._set(API_KEY, secrets.token_urlsafe(KEY_BYTES))
            self._tell(f"A key was made. Clients need it; it is {API_KEY} in .env")
        self._set("platforms.api.port", str(port))
        self._set("platforms.api.enabled", "true")

    def _telegram(self) -> None:
        section = self._platforms().get("telegram", {})
        if not self.questions.agreed("Talk to people on Telegram?", default=_is_on(section)):
            self._off("telegram", section)
            return
        token = ""
        if not section.get("token") or not self.questions.agreed("Keep its token?", default=True):
            base = section.get("api_base")
            token = self._token(base if isinstance(base, str) and base else API_BASE)
        people = self.questions.numbers("Who may write to it (their numeric ids, with commas)")
        if token:
            self._set("platforms.telegram.token", token)
        if people:
            self._set("platforms.telegram.allowed_users", str(people))
        elif not section.get("allowed_users"):
            self._tell("Nobody is allowed yet. Later: hermes config set " + _ALLOW)
        self._set("platforms.telegram.enabled", "true")

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

    def _last(self) -> int:
        settings, problems = survey(self.ground.home, self.ground.place.environ)
        for problem in problems:
            self._tell(f"hermes: {problem}")
        if not settings.model.provider:
            self._tell("No model answers yet. Choose one: hermes config set model.provider …")
        if running(self.ground.home) is not None:
            self._tell("The gateway that runs does not know of it yet: hermes gateway restart")
            return DONE
        supervisor = self.ground.supervisor()
        if supervisor is not None and not supervisor.file.is_file():
            question = f"Have {supervisor.kind} keep it running, from now on?"
            if self.questions.agreed(question, default=True):
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
        config_set.run(grammar.Assignment(key=key, value=value), self.ground.place)

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
