"""hermes model: who answers. A provider, its key, one of its models, and a question to try it.

Nothing is written before the model has answered, so a wrong key or a wrong URL changes nothing.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from msgspec.structs import replace as changed

from hermes.cli import model_local
from hermes.cli.errors import DONE, Usage
from hermes.cli.model_grammar import Choose
from hermes.cli.model_kept import OWN_KEY, Picked, keep, overridden
from hermes.cli.place import Place
from hermes.cli.service.questions import Questions
from hermes.core.errors import (
    ProviderFailed,
    ProviderGarbled,
    ProviderRefused,
    Rejected,
)
from hermes.costs import pricing
from hermes.models import Offer, listed, offer, offers, tried
from hermes.settings import Model, Settings, survey
from hermes.views.rare import likely

QUESTION = "Say hello in one short sentence."
SHOWN_CHARS = 160
FIRST = ("local", "custom")  # what needs no account stands first
UNCHANGED = "Nothing was changed."
INSTEAD = """\
hermes: to choose a model without a terminal, say which one:
  hermes model --provider NAME --model NAME --key-stdin < FILE
  hermes model providers                     who there is
  hermes model list --provider NAME          what they offer
"""


def run(given: Choose, place: Place, questions: Questions | None) -> int:
    """`questions` where there is somebody to ask."""
    if given.provider is None and questions is None:
        raise Usage(" ".join(INSTEAD.removeprefix("hermes: ").split()))
    choice = Choice(given, place, questions)
    try:
        picked = choice.picked()
        choice.try_out(picked)
    except ProviderFailed as failed:
        raise Rejected(f"{failed} {UNCHANGED}") from failed
    keep(place, picked)
    choice.told(picked)
    return DONE


@dataclass(frozen=True)
class Choice:
    given: Choose
    place: Place
    questions: Questions | None

    def picked(self) -> Picked:
        """All of it, from the words that were given and the answers of the person."""
        chosen = self._provider()
        if chosen.builtin:
            self._builtin(chosen)
            return Picked(offer=chosen, name=self.given.model or "")
        picked = Picked(offer=chosen, base_url=self._base_url(chosen))
        picked = replace(picked, key=self._key(chosen))
        return self._model(picked)

    def try_out(self, picked: Picked) -> None:
        if self.given.no_test:
            return
        self._tell(f"Asking it: {QUESTION}")
        settings = self._with(picked)
        began = time.monotonic()
        answer = asyncio.run(tried(settings, QUESTION))
        took = time.monotonic() - began
        said = " ".join(answer.text.split()) or "(nothing)"
        self.place.console.say(f"  “{said[:SHOWN_CHARS]}”")
        usage = answer.usage
        cost = pricing(settings)(f"{picked.offer.name}:{picked.name}", usage, 1)
        price = f", {cost:.6f} US dollars".rstrip("0") if cost else ""
        self._tell(f"  {took:.1f} s, {usage.input} tokens read, {usage.output} written{price}")

    def told(self, picked: Picked) -> None:
        name = f"{picked.offer.name}:{picked.name}" if picked.name else picked.offer.name
        self.place.console.say(f"{name} answers from now on.")
        settings, _problems = survey(self.place.home, self.place.environ)
        if names := overridden(self.place, settings, picked):
            self._tell(f"But {names} is set in this environment, and that wins.")

    def _provider(self) -> Offer:
        if self.given.provider is not None:
            found, near = offer(self.given.provider)
            if found is None:
                meant = (
                    f"Did you mean {' or '.join(near)}?" if near else "See: hermes model providers"
                )
                raise Usage(f"there is no provider “{self.given.provider}”. {meant}")
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

    def _builtin(self, chosen: Offer) -> None:
        if chosen.name != model_local.NAME or model_local.installed():
            return
        self._tell(f"{model_local.LIMITS}\n{model_local.COSTS}.")
        asks = self.questions if not self.given.yes else None
        if asks is not None and not asks.agreed("Install it?", default=True):
            raise Rejected(f"the built-in model is not installed. {UNCHANGED}")
        model_local.install(self.place)

    def _base_url(self, chosen: Offer) -> str:
        if self.given.base_url is not None:
            if why := _no_url(self.given.base_url):
                raise Usage(f"--base-url: {why}")
            return self.given.base_url
        model = self._settings().model
        current = model.base_url if model.provider == chosen.name else ""
        if not chosen.needs_url:
            return current or chosen.base_url
        if self.questions is None:
            if not current:
                raise Usage(f"{chosen.name} needs its address: --base-url http://…/v1")
            return current
        return self.questions.text("Its address, ending in /v1", default=current, refuse=_no_url)

    def _key(self, chosen: Offer) -> str:
        """A new one, or "" where the one that is there is to be used, or none is needed."""
        if self.given.key_stdin:
            return self.place.console.stdin.readline().strip()
        if self.given.key is not None:
            self._tell("A key on the command line is in the shell's history: better --key-stdin.")
            return self.given.key.strip()
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

    def _model(self, picked: Picked) -> Picked:
        """From the provider's own list. One without a list can be used all the same."""
        found: dict[str, int | None] = {}
        try:
            rows = asyncio.run(listed(self._with(picked)))
            found = {row.id: row.context_length for row in rows}
            self._tell(f"{picked.offer.title} offers {len(found)} models.")
        except (ProviderRefused, ProviderGarbled) as none:
            self._tell(f"It has no list of models ({none})")
        name = self.given.model or self._pick_model(list(found))
        if found and name not in found:
            near = likely(name, found)
            self._tell(f"{name} is not in its list.{f' Did you mean {near[0]}?' if near else ''}")
        return replace(picked, name=name, context_length=found.get(name))

    def _pick_model(self, names: Sequence[str]) -> str:
        current = self._settings().model.name
        if self.questions is None:
            if len(names) == 1:
                return names[0]
            raise Usage("which model? Say --model NAME. See: hermes model list --provider …")
        if not names:
            return self.questions.text("The model's name", default=current, refuse=_no_name)
        default = current if current in names else names[0] if len(names) == 1 else ""
        return self.questions.pick("Model", names, default=default, free=True)

    def _with(self, picked: Picked) -> Settings:
        """The settings as they would be."""
        settings = self._settings()
        before = settings.model if settings.model.provider == picked.offer.name else Model()
        model = changed(
            before,
            provider=picked.offer.name,
            name=picked.name,
            base_url=picked.base_url,
            api_key=picked.key or before.api_key,
        )
        return changed(settings, model=model)

    def _settings(self) -> Settings:
        """What else is wrong in them is not our business, unless the file cannot be read."""
        settings, problems = survey(self.place.home, self.place.environ)
        for problem in problems:
            if problem.key.endswith("config.yaml"):
                raise problem
        return settings

    def _tell(self, text: str) -> None:
        self.place.console.tell(text)


def _no_name(text: str) -> str:
    return "" if text else "a name is needed"


def _no_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        fine = False
    return "" if fine else "that is no address: write http://… or https://…"
