"""hermes setup: set up model, commands, chats and service, then show them. It can be repeated."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.config import set as config_set
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, FAILED, UsageError
from hermes.cli.gateway.channel_answers import SetupAnswers, answers_of
from hermes.cli.gateway.channel_options import ChannelsOptions, channel_options, offered
from hermes.cli.gateway.service.probe import standing
from hermes.cli.gateway.setup import ChannelSetup as ChannelSetup
from hermes.cli.gateway.setup import questions_of
from hermes.cli.model import builtin
from hermes.cli.model.choose import ModelChooseOptions, choose_model, model_options
from hermes.cli.output.questions import Questions
from hermes.cli.setup.link import offer_link
from hermes.installed import program_name
from hermes.settings import Settings, survey

if TYPE_CHECKING:
    from argparse import ArgumentParser


SILENT = (
    "setup asks questions and needs a terminal. Without one, use --yes for the defaults, "
    "and see: hermes setup --help"
)


class SetupOptions(ChannelsOptions, ModelChooseOptions):
    skip_model: bool
    workdir: str | None
    sandbox: str | None


def _arguments(parser: "ArgumentParser") -> None:
    model_options(parser)
    parser.add_argument("--skip-model", action="store_true", help="leave the model as it is")
    parser.add_argument("--workdir", metavar="FOLDER", help="where commands run")
    parser.add_argument("--sandbox", choices=("auto", "none"), help="around commands")
    channel_options(parser)


def run(options: SetupOptions, context: CliContext) -> int:
    terminal = context.console.stdin.isatty()
    if not terminal and not options.yes:
        raise UsageError(SILENT)
    asks = terminal and not options.yes
    wizard = Wizard(options, context, questions_of(context, asks=asks), asks=asks)
    try:
        return wizard.run()
    except EOFError:
        context.console.tell("\nhermes: the input ended; settings made so far are kept")
        return FAILED


@dataclass(frozen=True)
class Wizard:
    options: SetupOptions
    context: CliContext
    questions: Questions
    asks: bool

    def run(self) -> int:
        for title, step in (
            ("1/4 Model", self._model),
            ("2/4 Commands: where they run", self._terminal),
            ("3/4 Chats: where people and programs reach it", self._channels),
        ):
            self.context.console.head(title)
            step()
            self.context.console.say("")
        self.context.console.head("4/4 Service: whether it runs on its own")
        status = self._service()
        if self.asks:
            offer_link(self.context, self.questions)
        self._summary()
        return status

    def _model(self) -> None:
        options, current = self.options, self._settings().model
        if options.skip_model:
            return
        if options.provider is None:
            if not self.asks:
                if current.provider:
                    self._tell(f"{current.provider}:{current.name} stays.")
                    return
                options.provider = builtin.NAME
            elif current.provider:
                kept = f"{current.provider}:{current.name} answers now. Keep it?"
                if self.questions.agreed(kept, default=True):
                    return
        choose_model(options, self.context, self.questions if self.asks else None)

    def _terminal(self) -> None:
        section = self._settings().terminal
        workdir, sandbox = self.options.workdir, self.options.sandbox
        if self.asks and workdir is None:
            workdir = self.questions.text(
                "Folder for commands (Enter: the one you are in)",
                default=section.workdir or "",
                refuse=lambda _text: "",
            )
        if self.asks and sandbox is None:
            around = "Run commands in a sandbox?"
            wanted = self.questions.agreed(around, default=section.sandbox == "auto")
            sandbox = "auto" if wanted else "none"
        if workdir and workdir != section.workdir:
            self._set("terminal.workdir", workdir)
        if sandbox is not None and sandbox != section.sandbox:
            self._set("terminal.sandbox", sandbox)
        settings = self._settings()
        self._tell(f"They run in {_folder(settings)}; sandbox: {settings.terminal.sandbox}.")

    def _channels(self) -> None:
        answers = answers_of(self.options, self.context)
        if self.asks or answers.on:
            quiet = answers if self.asks else _as_they_are(answers, self._settings())
            ChannelSetup(standing(self.context), self.questions, quiet).channels()
        else:
            self._tell("Unchanged. To set one up: hermes gateway setup")

    def _service(self) -> int:
        wanted = self.options.service
        if not self.asks and wanted is None:
            self._tell("To start it: hermes gateway start; to keep it: hermes gateway install")
            return DONE
        answers = SetupAnswers(service=wanted == "install" if wanted is not None else None)
        return ChannelSetup(standing(self.context), self.questions, answers).last()

    def _summary(self) -> None:
        settings = self._settings()
        chats = [
            name for name, each in settings.platforms.items() if each.get("enabled") is not False
        ]
        rows = (
            ("model", _named(settings)),
            ("commands", f"in {_folder(settings)}, sandbox: {settings.terminal.sandbox}"),
            ("chats", ", ".join(["this terminal", *chats])),
            ("settings", str(self.context.home)),
        )
        self.context.console.say("")
        for name, value in rows:
            self.context.console.say(f"{name:<9} {value}")
        name = program_name(self.context.environ)
        self.context.console.say(f"\nTalk to it: {name}\nCheck it:   {name} doctor")

    def _set(self, key: str, value: str) -> None:
        config_set.assign(self.context, key, value)

    def _settings(self) -> Settings:
        settings, problems = survey(self.context.home, self.context.environ)
        for problem in problems:
            if problem.key.endswith("config.yaml"):
                raise problem
        return settings

    def _tell(self, text: str) -> None:
        self.context.console.tell(text)


def _as_they_are(answers: SetupAnswers, settings: Settings) -> SetupAnswers:
    """Return the answers, with the present settings where none was given."""

    def is_on(name: str) -> bool:
        section = settings.platforms.get(name)
        return bool(section) and section is not None and section.get("enabled") is not False

    now = {plugin.name: is_on(plugin.name) for plugin, _offer in offered()}
    return replace(answers, on={**now, **answers.on})


def _folder(settings: Settings) -> str:
    return settings.terminal.workdir or "the folder that you are in (the gateway: its workspace)"


def _named(settings: Settings) -> str:
    model = settings.model
    return (
        f"{model.provider}:{model.name}".rstrip(":") if model.provider else "none yet: hermes model"
    )


COMMAND = CliCommand(
    options=SetupOptions,
    run=run,
    arguments=_arguments,
    more="""examples:
  hermes setup                                        asks; what is set is the default
  hermes setup --yes                                  the defaults, with the built-in model
  hermes setup --yes --provider openrouter --model NAME --key-stdin --telegram on \\
      --telegram-token-stdin --telegram-allow 12345678 --service install < secrets.txt

It can be run again at any time.""",
)
