"""The answers that one channel needs: given beforehand, there already, or asked of a person."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hermes.app.platforms import ChannelPlugin, SetupQuestion, section_problem
from hermes.cli.config.check import asked_platform, check_platform_secret, malformed, secret_places
from hermes.cli.gateway.channel_answers import Answer
from hermes.cli.gateway.channel_options import flag
from hermes.cli.gateway.service.lock import running
from hermes.cli.gateway.service.ports import unusable
from hermes.cli.gateway.service.service import ServiceContext
from hermes.cli.output.questions import Questions
from hermes.core.errors import Misconfigured, Rejected
from hermes.settings import survey

HOST, PORT_MAX = "127.0.0.1", 65_535
NEEDED = "an answer is needed"
Section = Mapping[str, object]


def place(plugin: ChannelPlugin, question: SetupQuestion) -> str:
    """What `hermes config set` calls it."""
    return question.key if question.secret else f"platforms.{plugin.name}.{question.key}"


@dataclass(frozen=True)
class ChannelQuestions:
    ground: ServiceContext
    questions: Questions
    given: Mapping[tuple[str, str], Answer] = field(repr=False)

    def answer(self, plugin: ChannelPlugin, question: SetupQuestion, section: Section) -> Answer:
        """What was said beforehand, or what a person says now; empty: what is there stays."""
        said = self.given.get((plugin.name, question.key))
        if question.secret:
            return said or self._secret(plugin, question, section)
        match question.kind:
            case "port":
                return self._port(plugin, question, section, said)
            case "ids":
                return self.questions.numbers(question.ask) if said is None else said
            case "text":
                return self._text(plugin, question, section, said)

    def _port(
        self, plugin: ChannelPlugin, question: SetupQuestion, section: Section, said: Answer | None
    ) -> int:
        refuse = self._refuse_port(section)
        if not isinstance(said, int):
            there = section.get(question.key)
            is_port = isinstance(there, int) and not isinstance(there, bool)
            default = int(str(there)) if is_port else int(question.default)
            return self.questions.number(
                question.ask, default=default, most=PORT_MAX, refuse=refuse
            )
        if why := refuse(said):
            raise Rejected(f"{why}. Choose another one with {flag(plugin, question)}")
        return said

    def _text(
        self, plugin: ChannelPlugin, question: SetupQuestion, section: Section, said: Answer | None
    ) -> str:
        def refuse(text: str) -> str:
            if text in ("", "-"):  # what `config set` would ask for
                return NEEDED if question.needed or text else ""
            if malformed(question, text):
                return f"This {question.malformed}"
            return self._problem(plugin, question, {**section, question.key: text}, {})

        default = str(section.get(question.key) or question.default)
        if said is None:
            self._demand(plugin, question, default)
            return self.questions.text(question.ask, default=default, refuse=refuse)
        if why := refuse(str(said)):
            raise Rejected(f"{flag(plugin, question)}: {why}")
        return str(said)

    def _secret(self, plugin: ChannelPlugin, question: SetupQuestion, section: Section) -> str:
        """Empty when the one that is there stays."""
        there = self.secret_there(section, question)
        keep = f"Keep its {question.noun or 'secret'}?"
        if there and self.questions.agreed(keep, default=True):
            try:
                check_platform_secret(self.ground.context, plugin, question, there, section)
            except Misconfigured as wrong:
                self.ground.context.console.tell(f"hermes: {wrong}")
            else:
                return ""
        self._demand(plugin, question, "")
        if self.questions.silent:
            return ""

        def refuse(value: str) -> str:
            if not value and not (question.needed and question.form):
                return NEEDED if question.needed else ""
            if malformed(question, value):
                return f"This {question.malformed}"
            if not question.checked:
                return self._problem(plugin, question, section, {question.key: value})
            context = self.ground.context
            checked = asked_platform(context, plugin, question, value, section)
            if checked.ok is False:
                return checked.said
            context.console.tell(f"This is {checked.name}" if checked.name else checked.said)
            return ""

        return self.questions.hidden(question.ask, refuse=refuse)

    def _demand(self, plugin: ChannelPlugin, question: SetupQuestion, default: str) -> None:
        """Raises Rejected where there is no one to ask and no answer to take instead."""
        if self.questions.silent and question.needed and not default:
            missing = question.missing or f"{plugin.title} needs an answer: {question.ask}"
            if question.option:
                raise Rejected(f"{missing}. Give it with: {flag(plugin, question)}")
            raise Rejected(f"{missing}. Run: hermes config set {place(plugin, question)} -")

    def _problem(
        self,
        plugin: ChannelPlugin,
        question: SetupQuestion,
        section: Section,
        given: Mapping[str, str],
    ) -> str:
        """What the platform's own reading of its section says of this answer."""
        known = self._known()
        problem = section_problem(plugin.name, section, {**known, **given})
        ours = problem is not None and problem.key in secret_places(plugin, question)
        return str(problem) if ours else ""

    def secret_there(self, section: Section, question: SetupQuestion) -> str:
        return str(section.get(question.in_section) or self._known().get(question.key, ""))

    def _refuse_port(self, section: Section) -> Callable[[int], str]:
        def refuse(port: int) -> str:
            if running(self.ground.home) is not None:
                return ""  # it may be our own
            host = section.get("host")
            found = unusable(host if isinstance(host, str) and host else HOST, port)
            return found.why if found is not None else ""

        return refuse

    def _known(self) -> Mapping[str, str]:
        settings, _problems = survey(self.ground.home, self.ground.context.environ)
        return settings.secrets
