"""hermes gateway setup: a few questions on a terminal, then channels that people can reach.

What is asked for each channel stands in its own `plugin.py`: nothing here knows one of them."""

import getpass
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from hermes.app.platforms import (
    ChannelPlugin,
    SetupOffer,
    SetupQuestion,
    has_packages,
)
from hermes.cli.command import CliCommand
from hermes.cli.config import set as config_set
from hermes.cli.config.check import check_platform_secret
from hermes.cli.config.file import save_setting, without_secret
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, FAILED, WRONG_USAGE
from hermes.cli.gateway.channel_answers import Answer, SetupAnswers, answers_of
from hermes.cli.gateway.channel_options import ChannelsOptions, channel_options, offered
from hermes.cli.gateway.channel_questions import ChannelQuestions, Section, place
from hermes.cli.gateway.channel_welcome import welcome
from hermes.cli.gateway.service.installing import install
from hermes.cli.gateway.service.lock import running
from hermes.cli.gateway.service.probe import standing
from hermes.cli.gateway.service.service import ServiceContext
from hermes.cli.output.files import saved
from hermes.cli.output.hints import as_called
from hermes.cli.output.questions import Questions
from hermes.cli.setup import extras
from hermes.core.errors import Misconfigured, Rejected
from hermes.installed import checkout, how_to_add
from hermes.settings import survey
from hermes.settings.home import CONFIG, SECRETS
from hermes.settings.sources import PREFIX, read_text

KEY_BYTES = 32


def run(options: ChannelsOptions, context: CliContext) -> int:
    terminal = context.console.stdin.isatty()
    answers = answers_of(options, context)
    if not (terminal or options.yes or answers.some):
        context.console.stderr.write(as_called(_instead(), context.environ))
        return WRONG_USAGE
    asks = terminal and not options.yes
    try:
        return ChannelSetup(standing(context), questions_of(context, asks=asks), answers).run()
    except EOFError:
        context.console.tell("\nhermes: the input ended; settings made so far are kept")
        return FAILED


def questions_of(context: CliContext, *, asks: bool) -> Questions:
    """Return questions to the person; without one, every question takes its default."""

    def tell(text: str) -> None:
        """Print at full brightness, because a person chooses by it."""
        context.console.note(as_called(text, context.environ))

    if asks:
        return Questions(input, getpass.getpass, tell)
    return Questions(lambda _question: "", _no_secret, tell, silent=True)


def _no_secret(_question: str) -> str:
    raise Rejected("a secret is needed, and only a terminal can be asked for it")


def _instead() -> str:
    """The commands that do what the questions would."""
    lines = [
        "hermes: setup asks questions and needs a terminal. Without one, give the answers as "
        "options",
        "(hermes gateway setup --help), or set what they would:",
    ]
    for plugin, _offer in offered():
        for each in plugin.questions:
            command = f"  hermes config set {place(plugin, each)}"
            lines.append(
                f"{command + ' -':<52}  {each.example}".rstrip()
                if each.secret
                else f"{command} {each.example or 'VALUE'}"
            )
        lines.append(f"  hermes config set platforms.{plugin.name}.enabled true")
    lines.append(f"{'  hermes gateway install':<52}  or: hermes gateway start")
    return "\n".join((*lines, ""))


@dataclass(frozen=True)
class ChannelSetup:
    """Set up channels. Each is written when its questions are answered, and enabled last."""

    ground: ServiceContext
    questions: Questions
    answers: SetupAnswers = field(default_factory=SetupAnswers)

    def run(self) -> int:
        self.channels()
        return self.last()

    @property
    def _asking(self) -> ChannelQuestions:
        return ChannelQuestions(self.ground, self.questions, self.answers.given)

    def channels(self) -> None:
        self._overview()
        channels = offered()
        for plugin, _offer in channels:  # before anything is written
            said = {
                key: each for (name, key), each in self.answers.given.items() if name == plugin.name
            }
            section = {key: each for key, each in said.items() if key in plugin.keys}
            for each in plugin.questions:
                if each.secret and each.key in said:
                    value = str(said[each.key])
                    check_platform_secret(self.ground.context, plugin, each, value, section)
        for plugin, offer in channels:
            self._channel(plugin, offer)

    def _overview(self) -> None:
        platforms = self._platforms()
        first = [plugin.name for plugin, _offer in offered()]
        names = (*first, *(name for name in platforms if name not in first))
        rows = [(name, "on" if _is_on(platforms.get(name, {})) else "off") for name in names]
        self.ground.context.console.table(("CHANNEL", "STATE"), rows)

    def _channel(self, plugin: ChannelPlugin, offer: SetupOffer) -> None:
        section = self._platforms().get(plugin.name, {})
        wanted = self.answers.on.get(plugin.name)
        if not self._agreed(wanted, offer.ask, default=offer.default or _is_on(section)):
            if _is_on(section):
                self._set(f"platforms.{plugin.name}.enabled", "false")
            return
        self._add_library(plugin)
        answers: dict[str, Answer] = {}
        asked = [question for question in plugin.questions if not question.made]
        for question in asked:
            given = {key: value for key, value in answers.items() if key in plugin.keys and value}
            answers[question.key] = self._asking.answer(plugin, question, {**section, **given})
        self._write(plugin, section, answers)
        welcome(self.ground.context, self.questions, plugin)

    def _write(
        self, plugin: ChannelPlugin, section: Section, answers: Mapping[str, Answer]
    ) -> None:
        for each in plugin.questions:
            if each.made and not self._asking.secret_there(section, each):
                self._set(each.key, secrets.token_urlsafe(KEY_BYTES))
                self._tell(each.made)
            elif each.secret and answers.get(each.key):
                self._keep_secret(plugin, each, str(answers[each.key]))
        for each in plugin.questions:
            at = place(plugin, each)
            if not each.secret and answers[each.key]:
                self._set(at, str(answers[each.key]))
            elif not each.secret and each.left_out and not section.get(each.key):
                self._tell(f"{each.left_out}: hermes config set {at} {each.example}")
        self._set(f"platforms.{plugin.name}.enabled", "true")

    def _add_library(self, plugin: ChannelPlugin) -> None:
        """The platform's own library, before anything is asked. Raises Misconfigured."""
        if has_packages(plugin.name):
            return
        root, at = checkout(), f"platforms.{plugin.name}"
        hint = f"Run: {how_to_add(plugin.extra)}"
        if root is None:
            raise Misconfigured(at, "needs a library that is not installed", hint)
        self._tell(f"{plugin.title} needs a library of its own, which is added now.")
        why = extras.add(plugin.extra, root, self.ground.context)
        if why or not has_packages(plugin.name):
            problem = f"its library could not be added ({why or 'it cannot be imported'})"
            raise Misconfigured(at, problem, hint)

    def _keep_secret(self, plugin: ChannelPlugin, question: SetupQuestion, value: str) -> None:
        """Into .env, where the documentation has it. One under another name would win."""
        context = self.ground.context
        file, env = context.home / CONFIG, context.home / SECRETS
        path = ("platforms", plugin.name, question.in_section)
        if question.in_section and file.exists():
            save_setting(file, path, None)
        if question.in_section and env.exists():
            variable = PREFIX + "__".join(path).upper()
            saved(env, without_secret(read_text(env), variable).encode())
        config_set.keep_secret(context, question.key, value)

    def _agreed(self, said: bool | None, question: str, *, default: bool) -> bool:
        return self.questions.agreed(question, default=default) if said is None else said

    def last(self) -> int:
        settings, problems = survey(self.ground.home, self.ground.context.environ)
        for problem in problems:
            self._tell(f"hermes: {problem}")
        if not settings.model.provider:
            self._tell("No model answers yet. Choose one: hermes model")
        if running(self.ground.home) is not None:
            self._tell("Restart the running gateway to apply this: hermes gateway restart")
            return DONE
        supervisor = self.ground.supervisor()
        if supervisor is not None and not supervisor.file.is_file():
            question = f"Install it as a {supervisor.kind} service?"
            if self._agreed(self.answers.service, question, default=True):
                return install(self.ground)
        self._tell("To start it: hermes gateway start")
        return DONE

    def _set(self, key: str, value: str) -> None:
        config_set.assign(self.ground.context, key, value)

    def _platforms(self) -> Mapping[str, Mapping[str, object]]:
        settings, _problems = survey(self.ground.home, self.ground.context.environ)
        return settings.platforms

    def _tell(self, text: str) -> None:
        self.ground.context.console.tell(text)


def _is_on(section: Section) -> bool:
    return bool(section) and section.get("enabled") is not False


COMMAND = CliCommand(
    options=ChannelsOptions,
    run=run,
    arguments=channel_options,
    more="Without options it asks. Your current settings are the defaults.",
)
