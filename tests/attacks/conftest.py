"""A fresh victim, and each kind of box that this machine can build around its workspace."""

from pathlib import Path

import pytest

from hermes.views.sandbox import Sandbox
from tests.attacks.victim import KINDS, Victim, demand_working, made, sandbox_of


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    return made(tmp_path / "person")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sandbox(kind: str, victim: Victim) -> Sandbox:
    found = sandbox_of(kind, victim)
    demand_working(found, victim)
    return found
