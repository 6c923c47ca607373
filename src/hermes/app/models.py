"""The models that a process can ask. Part of the composition root."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hermes.app.windows import LearnedWindows as LearnedWindows
from hermes.core.errors import ContextOverflow, ProviderDenied, ProviderSilent
from hermes.core.messages import Line
from hermes.core.ports import Answer, ModelRequest, Provider
from hermes.core.signals import Glimpse, Watch
from hermes.lazy import Lazy, LazyModule
from hermes.providers.catalogue import ENTRIES, canonical, chosen, closest
from hermes.providers.plan import RequestPlan, planned
from hermes.providers.profile import is_small
from hermes.providers.settings import ProviderSettings, ProviderTimeouts, RetryLimits
from hermes.settings import Fallback, Settings

if TYPE_CHECKING:
    from hermes.providers import build
    from hermes.providers.weights import here
    from hermes.providers.weights.folder import WeightsFolder
    from hermes.wire import look
    from hermes.wire.response import Response
else:
    look = LazyModule("hermes.wire.look")
    build = LazyModule("hermes.providers.build")
    here = LazyModule("hermes.providers.weights.here")

BUILTIN = "local"  # the provider of the built-in models
TRY_S = 30.0  # for a model that was chosen in a chat to answer
TRY_QUESTION = "Answer with the word OK."
LEARN_S = 1.0  # for a question that is under way when we leave
UNLEARNED = LearnedWindows()
WINDOW_ASSUMED = 128_000  # where nobody said; a model that can read less says so when it is asked


class Unmade:
    """A provider that is made when it is first asked, because its protocol is loaded then. A local
    one is made at once, so that a missing one is reported at the start."""

    def __init__(
        self, plans: Sequence[RequestPlan], patience: RetryLimits, windows: LearnedWindows
    ) -> None:
        self._first = plans[0]
        self._windows = windows
        self._asking: asyncio.Task[None] | None = None  # what the server reads at most
        self._made = Lazy(lambda: _chain(plans, patience))
        if any(plan.endpoint is None for plan in plans):
            self._made()

    @property
    def name(self) -> str:
        where = self._first.endpoint
        return where.whom.name if where is not None else self._made().name

    async def ask(self, request: ModelRequest, watch: Watch) -> Answer:
        try:
            answer = await self._made().ask(request, watch)
        except ContextOverflow as overflow:
            if overflow.window and str(overflow).startswith(self.name):  # not a fallback's
                self._windows.learn(self.name, overflow.window)
            raise
        if self._asking is None:  # a server that answers may also tell what it reads
            self._asking = asyncio.create_task(self._windows.ask(self._first))
        return answer

    async def aclose(self) -> None:
        if self._asking is not None:
            await asyncio.wait({self._asking}, timeout=LEARN_S)
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
        if self._made.is_made:
            await self._made().aclose()


class NoModel:
    """The provider of an engine that only sends: no model is set up, and none is needed."""

    name = "none"

    async def ask(self, _request: ModelRequest, _watch: Watch) -> Answer:
        raise ProviderDenied("no model is set up. Choose one with: hermes model")

    async def aclose(self) -> None:
        """There is nothing to close."""


class Models:
    """The model of the settings, and those that sessions were told to use instead."""

    def __init__(
        self,
        settings: Settings,
        windows: LearnedWindows | None = None,
        *,
        required: bool = True,
    ) -> None:
        self._settings = settings
        self._windows = windows or LearnedWindows()
        self._others: dict[str, Provider] = {}
        chosen_one = required or settings.model.provider
        self.first: Provider = _of_settings(settings, self._windows) if chosen_one else NoModel()

    def name(self, said: str) -> str:
        """Return what /model was told as a name that `provider` takes. Raise Misconfigured."""
        model = chosen(said, _model_settings(self._settings))
        name = f"{model.provider}:{model.name}"
        self.provider(name)
        return name

    def provider(self, name: str) -> Provider:
        if name not in self._others:
            model = chosen(name, _model_settings(self._settings))
            self._others[name] = _provider(model, self._settings.secrets, self._windows)
        return self._others[name]

    async def try_model(self, name: str) -> None:
        """Ask that model one question, once. Raise Misconfigured or a ProviderFailed."""
        model = chosen(name, _model_settings(self._settings))
        try:
            async with asyncio.timeout(TRY_S):
                await _asked_once(model, self._settings.secrets, TRY_QUESTION)
        except TimeoutError as late:
            raise ProviderSilent(f"there was no answer within {TRY_S:.0f} seconds") from late

    def small(self) -> Provider:
        """Return the model for small tasks. Raise Misconfigured."""
        name = self._settings.agent.small_model
        return self.provider(name) if name else self.first

    def window(self, name: str) -> int:
        return window_of(self._settings, name, self._windows)

    def context_window(self, name: str) -> int:
        return context_window(self._settings, name, self._windows)

    def is_small(self, name: str) -> bool:
        return has_small_profile(self._settings, name)

    async def aclose(self) -> None:
        for provider in (self.first, *self._others.values()):
            await provider.aclose()


def context_window(settings: Settings, name: str, windows: LearnedWindows = UNLEARNED) -> int:
    """Return how many tokens a model can read, for people. "" is the model of the settings."""
    tokens, _whole = _builtin_reach(settings, name)
    return tokens or window_of(settings, name, windows)


def window_of(settings: Settings, name: str, windows: LearnedWindows = UNLEARNED) -> int:
    """Return how many tokens a conversation may have before it is summarised, by the settings or
    the server; "" is the first model."""
    model = settings.model
    known = [one for one in (model, *model.fallbacks) if f"{one.provider}:{one.name}" == name]
    length = known[0].context_length if known else None if name else model.context_length
    length = length or windows.tokens(name or f"{model.provider}:{model.name}")
    if length:
        return length
    tokens, whole = _builtin_reach(settings, name)
    return tokens if whole else WINDOW_ASSUMED


def _builtin_reach(settings: Settings, name: str) -> tuple[int, bool]:
    """Return how many tokens a built-in model reads, and whether it is given all of them; of any
    other model nothing is known here."""
    provider, _, model = name.partition(":")
    if not name:
        provider, model = settings.model.provider, settings.model.name
    if canonical(provider) != BUILTIN:
        return 0, False
    return here.local_reach(weights_of(settings), model)


def has_small_profile(settings: Settings, name: str) -> bool:
    """Return whether a model gets the profile for small models. "" is the model of the settings."""
    model = _model_settings(settings)
    return is_small(chosen(name, model) if name else model)


def model_provider(settings: Settings) -> Provider:
    """The model of the settings, with its fallbacks. Raises Misconfigured."""
    return _of_settings(settings, LearnedWindows())


def _of_settings(settings: Settings, windows: LearnedWindows) -> Provider:
    return _provider(_model_settings(settings), settings.secrets, windows)


class Offer(Struct, frozen=True, kw_only=True):
    """A provider, as far as a person has to know it to choose it. `keys`: variables for its key."""

    name: str
    title: str
    base_url: str = ""
    keys: tuple[str, ...] = ()
    needs_key: bool = True
    builtin: bool = False
    docs: str = ""

    @property
    def needs_url(self) -> bool:
        return not (self.base_url or self.builtin)


def offers() -> tuple[Offer, ...]:
    """Return every provider of the catalogue, in its order."""
    return tuple(
        Offer(
            name=name,
            title=entry.title,
            base_url=entry.base_url,
            keys=entry.keys,
            needs_key=not entry.local,
            builtin=entry.protocol in ("local", "scripted"),
            docs=entry.docs,
        )
        for name, entry in ENTRIES.items()
    )


def offer(said: str) -> tuple[Offer | None, Sequence[str]]:
    """Return the provider that a person named, or names that are similar."""
    name = canonical(said)
    found = next((each for each in offers() if each.name == name), None)
    return found, () if found is not None else closest(said)


def has_engine() -> bool:
    """Return True if the library that runs a built-in model is installed."""
    return here.has_engine()


def weights_of(settings: Settings) -> "WeightsFolder":
    """Return the folder of the built-in models' weights. Raise Misconfigured."""
    return here.weights_folder(settings.model.weights, settings.secrets)


async def listed(settings: Settings) -> "tuple[build.ModelListing, ...]":
    """List the models of the configured provider. Raise Misconfigured or a ProviderFailed."""
    return await build.list_models(_model_settings(settings), settings.secrets)


async def tried(settings: Settings, question: str) -> Answer:
    """Ask the first model one question, once. Raise as `listed` does."""
    return await _asked_once(_model_settings(settings), settings.secrets, question)


async def _asked_once(model: ProviderSettings, env: Mapping[str, str], question: str) -> Answer:
    once = replace(model, fallback=(), patience=RetryLimits(attempts_max=1))
    provider = _chain(planned(once, env), once.patience)
    request = ModelRequest(system="", lines=(Line(role="user", text=question),))
    try:
        return await provider.ask(request, _unwatched)
    finally:
        await provider.aclose()


def looked(url: str, limit_s: float) -> "AbstractAsyncContextManager[Response]":
    """Send a GET without a key to a server of the owner's, on the same route as its model. Raise
    HttpFailed."""
    return look.looked(url, limit_s)


def _provider(model: ProviderSettings, env: Mapping[str, str], windows: LearnedWindows) -> Provider:
    """Make a provider. Raise Misconfigured."""
    return Unmade(planned(model, env), model.patience, windows)


def _chain(plans: Sequence[RequestPlan], patience: RetryLimits) -> Provider:
    return build.chain(plans, patience)


def _unwatched(_glimpse: Glimpse) -> None:
    """Ignore live progress."""


def _model_settings(settings: Settings) -> ProviderSettings:

    def model(one: Fallback, fallbacks: Sequence[Fallback] = ()) -> ProviderSettings:
        return ProviderSettings(
            provider=one.provider,
            name=one.name,
            base_url=one.base_url,
            api_key=one.api_key,
            context_length=one.context_length,
            profile=one.profile,
            timeouts=ProviderTimeouts(
                connect_s=one.timeouts.connect_s,
                first_token_s=one.timeouts.first_token_s,
                silence_s=one.timeouts.silence_s,
            ),
            headers=one.headers,
            body=one.extra_body,
            weights=settings.model.weights,
            fallback=tuple(model(other) for other in fallbacks),
        )

    return model(settings.model, settings.model.fallbacks)
