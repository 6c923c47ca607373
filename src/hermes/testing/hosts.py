"""Hosts whose every answer a test chooses: see `ChannelHost` and `CommandContext`."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager

from msgspec import Struct

from hermes.core.channel import NO_PERSON, Command, Considered, Feed, GatewayState, GatewayStatus
from hermes.core.ids import SessionKey
from hermes.core.messages import Address, Inbound, Media
from hermes.core.people import Role, Sender
from hermes.core.principal import AudienceOf
from hermes.core.store import Accepted, MediaStore, Store


async def _nothing_to_resume(_key: SessionKey) -> None:
    """For a host behind which no turn can be interrupted."""


async def _no_position(*_: str) -> str:
    """For a host that remembers none: everything is read again."""
    return ""


async def _at_once(_address: Address, act: Callable[[], Awaitable[None]]) -> bool:
    await act()
    return True


async def _alone(_name: str) -> bool:
    """For a host on the only node."""
    return True


class FakeHost(Struct, frozen=True, kw_only=True):
    """What a channel or a service asks, each answer a function of the test."""

    accept: Callable[[Inbound], Awaitable[Accepted]]
    role: Callable[[Sender], Awaitable[Role]]
    admit_stranger: Callable[[Sender, str, str], Awaitable[str]]
    deliver: Callable[[SessionKey], Awaitable[None]]
    watch: Callable[..., AbstractContextManager[Feed]]
    state: Callable[[], GatewayState]
    status: Callable[[], Awaitable[GatewayStatus]]
    connected: Callable[[], None]
    polled: Callable[[], None]
    describe: Callable[[Media], Awaitable[Considered | None]]
    store: Store
    media: MediaStore
    commands: Sequence[Command]
    new_id: Callable[[], str]
    clock: Callable[[], float]
    spare: Callable[[Address, Callable[[], Awaitable[None]]], Awaitable[bool]] = _at_once
    cursor: Callable[[str, str], Awaitable[str]] = _no_position
    move_cursor: Callable[[str, str, str], Awaitable[object]] = _no_position
    patient: Callable[[Sender], bool] = lambda _sender: True
    audience: AudienceOf = NO_PERSON
    resume: Callable[[SessionKey], Awaitable[None]] = _nothing_to_resume
    hold: Callable[[str], Awaitable[bool]] = _alone


class FakeContext(Struct, frozen=True, kw_only=True):
    """What a command or a tool asks, likewise."""

    store: Store
    media: MediaStore
    accept: Callable[[Inbound], Awaitable[Accepted]]
    status: Callable[[], Awaitable[GatewayStatus]]
    consider: Callable[[str, str, str], Awaitable[Considered]]
    clock: Callable[[], float]
    preflight: Callable[[], Awaitable[str]] | None = None
    audience: AudienceOf = NO_PERSON
