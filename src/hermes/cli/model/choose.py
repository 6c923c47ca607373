"""hermes model: choose a provider, its key and a model, and try it with a question.

Nothing is written before the model has answered, so a wrong key or a wrong URL changes nothing.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec.structs import replace as changed

from hermes.app.costs import pricing
from hermes.app.models import Offer, listed, offer, offers, tried
from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, UsageError
from hermes.cli.model.saving import OWN_KEY, PickedModel, keep, overridden
from hermes.cli.output.questions import Questions
from hermes.core.errors import (
    ProviderFailed,
    ProviderGarbled,
    ProviderRefused,
    Rejected,
)
from hermes.lazy import LazyModule
from hermes.settings import ModelSettings, Settings, survey
from hermes.text.plurals import counted
from hermes.text.similar import likely

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from hermes.app import found_models
    from hermes.app import weights as app_weights
    from hermes.cli.gateway import setup as gateway_setup
    from hermes.cli.model import builtin
else:
    found_models = LazyModule("hermes.app.found_models")
    app_weights = LazyModule("hermes.app.weights")
    builtin = LazyModule("hermes.cli.model.builtin")
    gateway_setup = LazyModule("hermes.cli.gateway.setup")


QUESTION = "Say hello in one short sentence."
SHOWN_CHARS = 160
FIRST = ("local", "custom")  # what needs no account stands first
UNCHANGED = "Nothing was changed."
INSTEAD = """\
hermes: to choose a model without a terminal, name it:
  hermes model --provider NAME --model NAME --key-stdin < FILE
  hermes model providers                     list the providers
  hermes model list --provider NAME          list their models
"""


class ModelChooseOptions:
    provider: str | None
    model: str | None
    base_url: str | None
    key: str | None
    key_stdin: bool
    no_test: bool
    yes: bool


def model_options(parser: "ArgumentParser") -> None:
    """Declare the options, which `hermes setup` shares."""
    parser.add_argument("--provider", metavar="NAME", help="the provider: openrouter, custom, …")
    parser.add_argument("--model", metavar="NAME", help="the model's name at the provider")
    parser.add_argument(
        "--base-url", metavar="URL", help="the address of the API: http://127.0.0.1:8080/v1"
    )
    parser.add_argument("--key", metavar="KEY", help="visible to other users; --key-stdin is safer")
    parser.add_argument(
        "--key-stdin", action="store_true", help="the key is the first line of standard input"
    )
    parser.add_argument("--no-test", action="store_true", help="save it without a test question")


def _arguments(parser: "ArgumentParser") -> None:
    model_options(parser)
    parser.add_argument(
        "-y", "--yes", action="store_true", help="install what is missing without asking"
    )


def run(options: ModelChooseOptions, context: CliContext) -> int:
    asks = context.console.stdin.isatty() and not options.key_stdin
    questions = gateway_setup.questions_of(context, asks=True) if asks else None
    return choose_model(options, context, questions)


def choose_model(
    options: ModelChooseOptions, context: CliContext, questions: Questions | None
) -> int:
    """Choose a model. `questions` is given when there is a person to ask."""
    if options.provider is None and questions is None:
        raise UsageError(" ".join(INSTEAD.removeprefix("hermes: ").split()))
    choice = ModelChoice(options, context, questions)
    choice.settle(choice.picked)
    return DONE


@dataclass(frozen=True)
class ModelChoice:
    """One choice of a model. `suggests`: the catalogue's suggestion is the default."""

    options: ModelChooseOptions
    context: CliContext
    questions: Questions | None
    suggests: bool = False

    def settle(self, picked: Callable[[], PickedModel]) -> None:
        """Try what was picked, and keep it if it answers. Raise Rejected; nothing is changed
        then."""
        try:
            model = picked()
            self.try_out(model)
        except ProviderFailed as failed:
            raise Rejected(f"{failed} {UNCHANGED}") from failed
        keep(self.context, model)
        self.report(model)

    def picked(self) -> PickedModel:
        """Return the complete choice, from the options and the person's answers."""
        chosen = self._provider()
        if chosen.name == builtin.NAME:
            return PickedModel(offer=chosen, name=self.builtin_model())
        if chosen.builtin:
            return PickedModel(offer=chosen, name=self.options.model or "")
        picked = PickedModel(offer=chosen, base_url=self._base_url(chosen))
        picked = replace(picked, key=self._key(chosen))
        return self.with_model(picked)

    def try_out(self, picked: PickedModel) -> None:
        if self.options.no_test:
            return
        self._tell(f"Asking it: {QUESTION}")
        settings = self._with(picked)
        began = time.monotonic()
        answer = asyncio.run(tried(settings, QUESTION))
        took = time.monotonic() - began
        said = " ".join(answer.text.split()) or "(nothing)"
        self.context.console.say(f"  “{said[:SHOWN_CHARS]}”")
        usage = answer.usage
        cost = pricing(settings)(f"{picked.offer.name}:{picked.name}", usage, 1)
        price = f", {cost:.6f} US dollars".rstrip("0") if cost else ""
        self._tell(f"  {took:.1f} s, {usage.input} tokens read, {usage.output} written{price}")

    def report(self, picked: PickedModel) -> None:
        name = f"{picked.offer.name}:{picked.name}" if picked.name else picked.offer.name
        self.context.console.say(f"{name} is now the model.")
        settings, _problems = survey(self.context.home, self.context.environ)
        if names := overridden(self.context, settings, picked):
            self._tell(f"But {names} is set in this environment and overrides it.")

    def _provider(self) -> Offer:
        if self.options.provider is not None:
            found, near = offer(self.options.provider)
            if found is None:
                meant = (
                    f"Did you mean {' or '.join(near)}?" if near else "See: hermes model providers"
                )
                raise UsageError(f"there is no provider “{self.options.provider}”. {meant}")
            return found
        assert self.questions is not None
        every = {each.name: each for each in offers() if each.name != "scripted"}
        width = max(map(len, every))
        names = [*FIRST, *(name for name in every if name not in FIRST)]
        current = self._settings().model.provider
        name = self.questions.pick(
            "Provider",
            names,
            default=current if current in every else "",
            told=lambda name: f"{name:<{width}}  {every[name].title}",
        )
        return every[name]

    def builtin_model(self) -> str:
        """Choose a built-in model, and fetch what it needs after saying what that costs."""
        settings, name = self._settings(), self.options.model or ""
        if name.endswith(builtin.OWN_FILE):
            builtin.install_engine(self.context)
            return str(Path(name).expanduser().absolute())
        weights = builtin.named(settings, name) if name else self._pick_weights(settings)
        if builtin.download_bytes(settings, weights):
            self._tell(f"{builtin.LIMITS}\n{builtin.terms(settings, weights)}")
            asks = self.questions if not self.options.yes else None
            if asks is not None and not asks.agreed("Fetch it?", default=True):
                raise Rejected(f"the built-in model is not installed. {UNCHANGED}")
            builtin.prepare(self.context, weights)
        return weights.name

    def _pick_weights(self, settings: Settings) -> "app_weights.Weights":
        if self.questions is None:
            return builtin.unasked(settings)
        known = {each.name: each for each in app_weights.offered_weights(settings)}
        name = self.questions.pick(
            "Model",
            list(known),
            default=builtin.default_of(settings).name,
            told=lambda name: f"{name}: {builtin.described(settings, known[name])}",
        )
        return known[name]

    def _base_url(self, chosen: Offer) -> str:
        if self.options.base_url is not None:
            if why := _no_url(self.options.base_url):
                raise UsageError(f"--base-url: {why}")
            return self.options.base_url
        model = self._settings().model
        current = model.base_url if model.provider == chosen.name else ""
        if not chosen.needs_url:
            return current or chosen.base_url
        if self.questions is None:
            if not current:
                raise UsageError(f"{chosen.name} needs its address: --base-url http://…/v1")
            return current
        return self.questions.text("Its address, ending in /v1", default=current, refuse=_no_url)

    def _key(self, chosen: Offer) -> str:
        """Return a new key, or "" when the present one is used or none is needed."""
        if self.options.key_stdin:
            return self.context.console.stdin.readline().strip()
        if self.options.key is not None:
            self._tell(
                "A key on the command line stays in the shell's history; --key-stdin is safer."
            )
            return self.options.key.strip()
        settings = self._settings()
        there = [name for name in (*chosen.keys, OWN_KEY) if settings.secrets.get(name)]
        if self.questions is None:
            return ""
        if there and self.questions.agreed(f"{there[0]} is set. Keep it?", default=True):
            return ""
        where = f", from {chosen.docs}" if chosen.docs else ""
        more = "" if chosen.needs_key else "; Enter for none"
        need = "a key is needed" if chosen.needs_key else ""
        return self.questions.hidden(
            f"Its key{where} (not shown{more})", refuse=lambda text: "" if text else need
        )

    def with_model(self, picked: PickedModel) -> PickedModel:
        """Choose from the provider's own list. A provider without a list takes any name."""
        found: dict[str, int | None] = {}
        try:
            rows = asyncio.run(listed(self._with(picked)))
            found = {row.id: row.context_length for row in rows}
            self._tell(f"{picked.offer.title} offers {counted(len(found), 'model')}.")
        except (ProviderRefused, ProviderGarbled) as none:
            self._tell(f"It has no list of models ({none})")
        name = self.options.model or self._pick_model(picked.offer.name, list(found))
        if found and name not in found:
            near = likely(name, found)
            self._tell(f"{name} is not in its list.{f' Did you mean {near[0]}?' if near else ''}")
        return replace(picked, name=name, context_length=found.get(name))

    def _pick_model(self, provider: str, names: Sequence[str]) -> str:
        current = self._settings().model.name
        if self.questions is None:
            if len(names) == 1:
                return names[0]
            raise UsageError("which model? Use --model NAME. See: hermes model list --provider …")
        if not names:
            return self.questions.text("The model's name", default=current, refuse=_no_name)
        if self.suggests:
            names = found_models.by_suggestion(provider, names) or names
        sure = self.suggests or len(names) == 1
        default = current if current in names else names[0] if sure else ""
        return self.questions.pick("Model", names, default=default, free=True)

    def _with(self, picked: PickedModel) -> Settings:
        """Return the settings with this choice."""
        settings = self._settings()
        before = settings.model if settings.model.provider == picked.offer.name else ModelSettings()
        model = changed(
            before,
            provider=picked.offer.name,
            name=picked.name,
            base_url=picked.base_url,
            api_key=picked.key or before.api_key,
        )
        return changed(settings, model=model)

    def _settings(self) -> Settings:
        """Return the present settings. Other errors in them are ignored, unless the file cannot be
        read."""
        settings, problems = survey(self.context.home, self.context.environ)
        for problem in problems:
            if problem.key.endswith("config.yaml"):
                raise problem
        return settings

    def _tell(self, text: str) -> None:
        self.context.console.tell(text)


def _no_name(text: str) -> str:
    return "" if text else "a name is needed"


def _no_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        fine = False
    return "" if fine else "this is not a URL: it must begin with http:// or https://"


COMMAND = CliCommand(
    options=ModelChooseOptions,
    run=run,
    arguments=_arguments,
    more="""examples:
  hermes model                                        asks
  hermes model --provider openrouter --model NAME --key-stdin < key.txt
  hermes model --provider custom --base-url http://127.0.0.1:8080/v1 --model NAME
  hermes model --provider local                       built in, needs no key

The key goes into .env, which only you can read. Nothing is written unless the
model has answered; --no-test keeps it anyway.""",
)
