"""Checks that use the network: the model, each platform, and the clock."""

import asyncio
import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from hermes import __file__ as package
from hermes.app.application import beside
from hermes.app.models import looked, model_provider, offer, tried
from hermes.app.platforms import platforms_of, setup_check
from hermes.cli.doctor.check import DoctorCheck, Patient, failed
from hermes.cli.gateway.service.lock import running
from hermes.cli.gateway.service.ports import next_free, unusable
from hermes.cli.output.times import iso
from hermes.core.channel import GatewayStatus
from hermes.core.errors import ChannelFailed, HermesError, Misconfigured, ProviderDenied
from hermes.text.http_dates import parse_http_date
from hermes.views.platform_facts import facts_in_words
from hermes.wire.faults import HttpFailed

QUESTION = "Reply with the word: ok"
ANSWER_S, GATEWAY_S, DATE_S = 90.0, 5.0, 5.0
SKEW_S_MAX = 120.0
YEARS_AHEAD_S = 20 * 366 * 24 * 3600


def model(patient: Patient) -> Iterator[DoctorCheck]:
    chosen = patient.settings.model
    if patient.unread and not chosen.provider:
        yield patient.not_checked("model")
        return
    if not chosen.provider:
        detail = "no model is set up"
        yield DoctorCheck(name="model", ok=False, detail=detail, fix="hermes model")
        return
    try:
        provider = model_provider(patient.settings)
        if not patient.calls:
            yield DoctorCheck(name="model", ok=True, detail=f"{provider.name} (not asked)")
            return
        began = time.monotonic()
        asyncio.run(asyncio.wait_for(tried(patient.settings, QUESTION), ANSWER_S))
        took = f"{provider.name} answered in {time.monotonic() - began:.1f} s"
        yield DoctorCheck(name="model", ok=True, detail=took)
    except Misconfigured as problem:
        yield failed("model", problem)
    except ProviderDenied as denied:
        yield DoctorCheck(name="model", ok=False, detail=str(denied), fix=_new_key(patient))
    except HermesError as failure:
        yield DoctorCheck(name="model", ok=False, detail=str(failure), fix="hermes model")
    except TimeoutError:
        detail = f"no answer within {ANSWER_S:.0f} s"
        yield DoctorCheck(name="model", ok=False, detail=detail, fix="hermes model")


def channels(patient: Patient) -> Iterator[DoctorCheck]:
    """Check the enabled channels: by the running gateway, else by their settings and a call."""
    sections = patient.settings.platforms
    on = [name for name, section in sections.items() if section.get("enabled") is not False]
    if patient.unread:
        yield patient.not_checked("channels")
        return
    if not on:
        detail = "this terminal only; for more: hermes gateway setup"
        yield DoctorCheck(name="channels", ok=True, detail=detail)
        return
    status = _status(patient) if patient.calls else None
    for name in on:
        problem = _misconfigured(patient, name)
        if isinstance(problem, Misconfigured):
            yield failed(name, problem)
        elif problem is not None:
            yield problem
        elif status is not None and (found := _channel_check(status, name)) is not None:
            yield _with_facts(patient, found)
        elif patient.calls:
            yield _with_facts(patient, _asked(patient, name))
        else:
            yield DoctorCheck(name=name, ok=True, detail="its settings are right; not asked")


def clock(patient: Patient) -> Iterator[DoctorCheck]:
    """Compare the clock with the model's server if that sends a date; else check that it is
    plausible."""
    utc = iso(patient.now)
    fix = "sudo timedatectl set-ntp true"
    built = _modified()
    if not built - 86_400 < patient.now < built + YEARS_AHEAD_S:
        yield DoctorCheck(name="clock", ok=False, detail=f"{utc} cannot be right", fix=fix)
        return
    theirs = _date(_url(patient)) if patient.calls else None
    if theirs is None:
        yield DoctorCheck(
            name="clock", ok=True, detail=f"{utc} is plausible (not compared with a server)"
        )
        return
    skew = time.time() - theirs
    detail = f"{abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} {_url(patient)}"
    ok = abs(skew) <= SKEW_S_MAX
    yield DoctorCheck(name="clock", ok=ok, detail=detail, fix="" if ok else fix)


def _new_key(patient: Patient) -> str:
    found, _near = offer(patient.settings.model.provider)
    if patient.settings.model.api_key:
        return "hermes config set model.api_key -"
    return f"hermes config set {found.keys[0]} -" if found and found.keys else "hermes model"


def _misconfigured(patient: Patient, name: str) -> Misconfigured | DoctorCheck | None:
    """Return what is wrong with its settings, or with the port that it would listen on."""
    alone = replace(patient.settings, platforms={name: patient.settings.platforms[name]})

    async def build() -> Misconfigured | DoctorCheck | None:
        try:
            platforms = platforms_of(patient.home, alone)
        except Misconfigured as problem:
            return problem
        for close in platforms.closing:
            await close()
        if running(patient.home) is not None:
            return None  # it is the gateway itself that listens there
        return next(filter(None, (_unusable(name, *each) for each in platforms.listens)), None)

    return asyncio.run(build())


def _with_facts(patient: Patient, found: DoctorCheck) -> DoctorCheck:
    """Return the check with what the platform can do and what it limits, if details are wanted."""
    if not patient.verbose:
        return found
    alone = replace(
        patient.settings, platforms={found.name: patient.settings.platforms[found.name]}
    )

    async def facts() -> str:
        made = platforms_of(patient.home, alone)
        for close in made.closing:
            await close()
        manifests = (channel.manifest for channel in made.channels)
        return next(facts_in_words(each) for each in manifests if each.name == found.name)

    words = asyncio.run(facts())
    return dataclasses.replace(found, detail=f"{found.detail}; {words}") if words else found


def _unusable(name: str, section: str, host: str, port: int) -> DoctorCheck | None:
    found = unusable(host, port)
    if found is None:
        return None
    fix = f"hermes config set {section}.host 127.0.0.1"
    if found.port:
        fix = f"hermes config set {section}.port {next_free(host, port)}"
    return DoctorCheck(name=name, ok=False, detail=found.why, fix=fix)


def _status(patient: Patient) -> GatewayStatus | None:
    """Return the running gateway's report on its channels."""

    async def ask() -> GatewayStatus | None:
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
        return asyncio.run(asyncio.wait_for(ask(), GATEWAY_S))
    except (ChannelFailed, HermesError, TimeoutError, OSError):
        return None


def _channel_check(status: GatewayStatus, name: str) -> DoctorCheck | None:
    for channel in status.channels:
        if channel.name == name:
            ok = not channel.problem
            detail = f"{channel.state}, says the gateway"
            if ok:
                return DoctorCheck(name=name, ok=True, detail=detail)
            fix = "hermes gateway setup"
            return DoctorCheck(name=name, ok=False, detail=f"{detail}: {channel.problem}", fix=fix)
    return None


def _asked(patient: Patient, name: str) -> DoctorCheck:
    """By the platform itself. One that cannot be asked is as bad as one that says no."""
    settings = patient.settings
    try:
        found = asyncio.run(setup_check(name, settings.platforms[name], settings.secrets))
    except Misconfigured as problem:
        return failed(name, problem)
    fix = "" if found.ok else found.fix or "hermes gateway setup"
    detail = f"{found.said}: {found.link}" if found.link else found.said
    return DoctorCheck(name=name, ok=found.ok is True, detail=detail, fix=fix)


def _url(patient: Patient) -> str:
    chosen = patient.settings.model
    found, _near = offer(chosen.provider)
    return chosen.base_url or (found.base_url if found is not None else "")


def _date(url: str) -> float | None:
    """Return the server's clock. The request carries no key, because any response has a date."""
    if not url:
        return None
    try:
        said = asyncio.run(_date_header(f"{url.rstrip('/')}/models"))
        return parse_http_date(said) if said else None
    except (HttpFailed, ValueError):
        return None


async def _date_header(url: str) -> str:
    async with looked(url, DATE_S) as response:
        return response.headers.get("date", "")


def _modified() -> float:
    """Return when this version was installed: an earlier clock must be wrong."""
    return Path(package).stat().st_mtime
