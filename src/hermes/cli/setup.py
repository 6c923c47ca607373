"""hermes setup: model, commands, chats, service; then what is set. It can be run again."""

from dataclasses import dataclass, replace

from hermes.cli import config_set, model, model_local
from hermes.cli.errors import DONE, FAILED, Usage
from hermes.cli.place import Place
from hermes.cli.service.probe import standing
from hermes.cli.service.questions import Questions
from hermes.cli.service.setup import Answers, answers_of, questions_of
from hermes.cli.service.setup import Setup as Channels
from hermes.cli.setup_grammar import Setup
from hermes.settings import Settings, survey

SILENT = (
    "setup asks questions, and this is no terminal. Say --yes for the defaults, "
    "and see: hermes setup --help"
)


def run(given: Setup, place: Place) -> int:
    terminal = place.console.stdin.isatty()
    if not terminal and not given.yes:
        raise Usage(SILENT)
    asks = terminal and not given.yes
    wizard = Wizard(given, place, questions_of(place, asks=asks), asks=asks)
    try:
        return wizard.run()
    except EOFError:
        place.console.tell("\nhermes: no more answers came; what was set until here stays")
        return FAILED


@dataclass(frozen=True)
class Wizard:
    given: Setup
    place: Place
    questions: Questions
    asks: bool

    def run(self) -> int:
        for title, step in (
            ("1/4 Model: who answers", self._model),
            ("2/4 Commands: where they run", self._terminal),
            ("3/4 Chats: where people and programs reach it", self._channels),
        ):
            self.place.console.head(title)
            step()
            self.place.console.say("")
        self.place.console.head("4/4 Service: whether it runs on its own")
        status = self._service()
        self._summary()
        return status

    def _model(self) -> None:
        given, current = self.given, self._settings().model
        if given.skip_model:
            return
        if given.provider is None:
            if not self.asks:
                if current.provider:
                    self._tell(f"{current.provider}:{current.name} stays.")
                    return
                given.provider = model_local.NAME
            elif current.provider:
                kept = f"{current.provider}:{current.name} answers now. Keep it?"
                if self.questions.agreed(kept, default=True):
                    return
        model.run(given, self.place, self.questions if self.asks else None)

    def _terminal(self) -> None:
        section = self._settings().terminal
        workdir, sandbox = self.given.workdir, self.given.sandbox
        if self.asks and workdir is None:
            workdir = self.questions.text(
                "Folder for commands (Enter: the one you are in)",
                default=section.workdir or "",
                refuse=lambda _text: "",
            )
        if self.asks and sandbox is None:
            around = "Put a sandbox around commands, the best that this machine has?"
            wanted = self.questions.agreed(around, default=section.sandbox == "auto")
            sandbox = "auto" if wanted else "none"
        if workdir and workdir != section.workdir:
            self._set("terminal.workdir", workdir)
        if sandbox is not None and sandbox != section.sandbox:
            self._set("terminal.sandbox", sandbox)
        settings = self._settings()
        self._tell(f"They run in {_folder(settings)}; sandbox: {settings.terminal.sandbox}.")

    def _channels(self) -> None:
        answers = answers_of(self.given, self.place)
        if self.asks or answers.api is not None or answers.telegram is not None:
            quiet = answers if self.asks else _as_they_are(answers, self._settings())
            Channels(standing(self.place), self.questions, quiet).channels()
        else:
            self._tell("As they are. To set one up: hermes gateway setup")

    def _service(self) -> int:
        wanted = self.given.service
        if not self.asks and wanted is None:
            self._tell("To start it: hermes gateway start; to keep it: hermes gateway install")
            return DONE
        answers = Answers(service=wanted == "install" if wanted is not None else None)
        return Channels(standing(self.place), self.questions, answers).last()

    def _summary(self) -> None:
        settings = self._settings()
        chats = [
            name for name, each in settings.platforms.items() if each.get("enabled") is not False
        ]
        rows = (
            ("model", _named(settings)),
            ("commands", f"in {_folder(settings)}, sandbox: {settings.terminal.sandbox}"),
            ("chats", ", ".join(["this terminal", *chats])),
            ("settings", str(self.place.home)),
        )
        self.place.console.say("")
        for name, value in rows:
            self.place.console.say(f"{name:<9} {value}")
        self.place.console.say("\nTalk to it: hermes\nCheck it:   hermes doctor")

    def _set(self, key: str, value: str) -> None:
        config_set.assign(self.place, key, value)

    def _settings(self) -> Settings:
        settings, problems = survey(self.place.home, self.place.environ)
        for problem in problems:
            if problem.key.endswith("config.yaml"):
                raise problem
        return settings

    def _tell(self, text: str) -> None:
        self.place.console.tell(text)


def _as_they_are(answers: Answers, settings: Settings) -> Answers:
    """What was not said stays."""

    def is_on(name: str) -> bool:
        section = settings.platforms.get(name)
        return bool(section) and section is not None and section.get("enabled") is not False

    return replace(
        answers,
        api=is_on("api") if answers.api is None else answers.api,
        telegram=is_on("telegram") if answers.telegram is None else answers.telegram,
    )


def _folder(settings: Settings) -> str:
    return settings.terminal.workdir or "the folder that you are in (the gateway: its workspace)"


def _named(settings: Settings) -> str:
    model = settings.model
    return (
        f"{model.provider}:{model.name}".rstrip(":") if model.provider else "none yet: hermes model"
    )
