"""Checks that ask others: the model, each platform, and what time it is elsewhere."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from hermes import __file__ as package
from hermes.app import beside
from hermes.cli.doctor_check import Check, Patient, failed
from hermes.cli.service.bot import API_BASE, Known, Unasked, Unknown, check
from hermes.cli.service.lock import running
from hermes.cli.times import iso
from hermes.core.channel import Status
from hermes.core.errors import ChannelFailed, HermesError, Misconfigured, ProviderDenied
from hermes.egress.faults import HttpFailed
from hermes.models import looked, model_provider, offer, tried
from hermes.platforms import platforms_of
from hermes.views.rare import moment_of

QUESTION = "Reply with the word: ok"
ANSWER_S, GATEWAY_S, DATE_S = 90.0, 5.0, 5.0
SKEW_S_MAX = 120.0
YEARS_AHEAD_S = 20 * 366 * 24 * 3600
TELEGRAM, TELEGRAM_TOKEN = "telegram", "TELEGRAM_BOT_TOKEN"


def model(patient: Patient) -> Iterator[Check]:
    chosen = patient.settings.model
    if not chosen.provider:
        detail = "no model is set up"
        yield Check(name="model", ok=False, detail=detail, fix="hermes model")
        return
    try:
        provider = model_provider(patient.settings)
        if not patient.calls:
            yield Check(name="model", ok=True, detail=f"{provider.name} (not asked)")
            return
        began = time.monotonic()
        asyncio.run(asyncio.wait_for(tried(patient.settings, QUESTION), ANSWER_S))
        took = f"{provider.name} answered in {time.monotonic() - began:.1f} s"
        yield Check(name="model", ok=True, detail=took)
    except Misconfigured as problem:
        yield failed("model", problem)
    except ProviderDenied as denied:
        yield Check(name="model", ok=False, detail=str(denied), fix=_new_key(patient))
    except HermesError as failure:
        yield Check(name="model", ok=False, detail=str(failure), fix="hermes model")
    except TimeoutError:
        detail = f"no answer within {ANSWER_S:.0f} s"
        yield Check(name="model", ok=False, detail=detail, fix="hermes model")


def channels(patient: Patient) -> Iterator[Check]:
    """Those that are on: by the gateway where one runs, else by their settings and a call."""
    sections = patient.settings.platforms
    on = [name for name, section in sections.items() if section.get("enabled") is not False]
    if not on:
        detail = "this terminal only; for more: hermes gateway setup"
        yield Check(name="channels", ok=True, detail=detail)
        return
    status = _status(patient) if patient.calls else None
    for name in on:
        problem = _misconfigured(patient, name)
        if problem is not None:
            yield failed(name, problem)
        elif status is not None and (found := _connected(status, name)) is not None:
            yield found
        elif name == TELEGRAM and patient.calls:
            yield _bot(patient)
        else:
            yield Check(name=name, ok=True, detail="its settings are right; not asked")


def clock(patient: Patient) -> Iterator[Check]:
    """Against the model's server where it says a date; else only whether it can be at all."""
    utc = iso(patient.now)
    fix = "sudo timedatectl set-ntp true"
    built = _modified()
    if not built - 86_400 < patient.now < built + YEARS_AHEAD_S:
        yield Check(name="clock", ok=False, detail=f"{utc} cannot be right", fix=fix)
        return
    theirs = _date(_url(patient)) if patient.calls else None
    if theirs is None:
        yield Check(
            name="clock", ok=True, detail=f"{utc} is plausible; nobody was there to compare"
        )
        return
    skew = time.time() - theirs
    detail = f"{abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} {_url(patient)}"
    ok = abs(skew) <= SKEW_S_MAX
    yield Check(name="clock", ok=ok, detail=detail, fix="" if ok else fix)


def _new_key(patient: Patient) -> str:
    found, _near = offer(patient.settings.model.provider)
    if patient.settings.model.api_key:
        return "hermes config set model.api_key -"
    return f"hermes config set {found.keys[0]} -" if found and found.keys else "hermes model"


def _misconfigured(patient: Patient, name: str) -> Misconfigured | None:
    alone = replace(patient.settings, platforms={name: patient.settings.platforms[name]})

    async def made() -> Misconfigured | None:
        try:
            platforms = platforms_of(patient.home, alone)
        except Misconfigured as problem:
            return problem
        for close in platforms.closing:
            await close()
        return None

    return asyncio.run(made())


def _status(patient: Patient) -> Status | None:
    """What a gateway that runs says of its channels."""

    async def asked() -> Status | None:
        attached = await beside(patient.home)
        if attached is None:
            return None
        try:
            return await attached.status()
        finally:
            await attached.close()

    try:
        if running(patient.home) is None:
            return None
        return asyncio.run(asyncio.wait_for(asked(), GATEWAY_S))
    except (ChannelFailed, HermesError, TimeoutError, OSError):
        return None


def _connected(status: Status, name: str) -> Check | None:
    for channel in status.channels:
        if channel.name == name:
            ok = not channel.problem
            detail = f"{channel.state}, says the gateway"
            if ok:
                return Check(name=name, ok=True, detail=detail)
            fix = "hermes gateway setup"
            return Check(name=name, ok=False, detail=f"{detail}: {channel.problem}", fix=fix)
    return None


def _bot(patient: Patient) -> Check:
    section = patient.settings.platforms[TELEGRAM]
    token, base = _text(section, "token"), _text(section, "api_base") or API_BASE
    token = token or patient.settings.secrets.get(TELEGRAM_TOKEN, "")
    match check(token, base):
        case Known(name=name):
            return Check(name=TELEGRAM, ok=True, detail=f"@{name} is known there")
        case Unknown():
            detail = "Telegram does not know this token"
            fix = f"hermes config set {TELEGRAM_TOKEN} -"
            if _text(section, "token"):
                fix = "hermes config set platforms.telegram.token -"
            return Check(name=TELEGRAM, ok=False, detail=detail, fix=fix)
        case Unasked():
            return Check(
                name=TELEGRAM,
                ok=False,
                detail=f"{base} cannot be reached from here",
                fix=f"curl -sS -o /dev/null -w '%{{http_code}}\\n' {base}",
            )


def _text(section: Mapping[str, object], key: str) -> str:
    value = section.get(key)
    return value if isinstance(value, str) else ""


def _url(patient: Patient) -> str:
    chosen = patient.settings.model
    found, _near = offer(chosen.provider)
    return chosen.base_url or (found.base_url if found is not None else "")


def _date(url: str) -> float | None:
    """The server's own clock. It is asked without a key: any answer has a date."""
    if not url:
        return None
    try:
        said = asyncio.run(_said(f"{url.rstrip('/')}/models"))
        return moment_of(said) if said else None
    except (HttpFailed, ValueError):
        return None


async def _said(url: str) -> str:
    async with looked(url, DATE_S) as response:
        return response.headers.get("date", "")


def _modified() -> float:
    """When this version was put here: no clock can be right that is before it."""
    return Path(package).stat().st_mtime
