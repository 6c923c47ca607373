"""No secret of ours reaches a command."""

import pytest

from hermes.core.errors import Misconfigured
from hermes.terminals.environment import UNATTENDED, child_environment

GATEWAY = {
    "PATH": "/usr/bin",
    "HOME": "/home/you",
    "LC_ALL": "de_DE.UTF-8",
    "TZ": "Europe/Berlin",
    "OPENAI_API_KEY": "canary",
    "HERMES_MODEL__API_KEY": "canary",
    "LD_PRELOAD": "canary",
    "BASH_ENV": "canary",
    "GIT_SSH_COMMAND": "canary",
    "HTTPS_PROXY": "canary",
    "PYTHONPATH": "canary",
    "BASH_FUNC_ls%%": "canary",
    "CI": "true",
}


def test_only_listed_names_pass() -> None:
    child = child_environment(GATEWAY)
    assert "canary" not in child.values()
    assert child == {
        "PATH": "/usr/bin",
        "HOME": "/home/you",
        "LC_ALL": "de_DE.UTF-8",
        "TZ": "Europe/Berlin",
        **UNATTENDED,
    }


def test_the_owner_may_let_a_name_through() -> None:
    assert child_environment(GATEWAY, ["CI"])["CI"] == "true"
    assert "MISSING" not in child_environment(GATEWAY, ["MISSING"])


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "BASH_ENV", "GIT_DIR", "PYTHONPATH", "https_proxy", "HERMES_X", "ENV"]
)
def test_a_name_that_would_run_code_is_refused_even_when_configured(name: str) -> None:
    with pytest.raises(Misconfigured, match=name):
        child_environment(GATEWAY, [name])


def test_a_bare_gateway_still_gives_a_usable_environment() -> None:
    child = child_environment({})
    assert child["LANG"] == "C.UTF-8"
    assert child["TERM"] == "dumb"
    assert "/bin" in child["PATH"]
