"""A fresh victim, and each kind of box that this machine can build around its workspace."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.ports.sandbox import Sandbox
from tests.attacks.machine import machine_state, restore
from tests.attacks.victim import KINDS, Victim, demand_working, made, sandbox_of


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    return made(tmp_path / "person")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sandbox(kind: str, victim: Victim) -> Iterator[Sandbox]:
    """Yield a sandbox; fail the test if the machine changed, and restore it."""
    before = machine_state()
    found = sandbox_of(kind, victim)
    demand_working(found, victim)
    try:
        yield found
        assert machine_state() == before
    finally:
        restore(before)
