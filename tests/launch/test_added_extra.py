"""The command that a hint names really adds the extra, to this copy and to no other.

The first test is pip's, without a network. The others need a package index and the tools pipx and
uv: HERMES_TEST_INSTALL=1 ./hermes-test tests/launch/test_added_extra.py
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from launch.checkouts import ROOT, make_wheel, pack

INDEX = os.environ.get("HERMES_TEST_INSTALL", "")
needs_index = pytest.mark.skipif(not INDEX, reason="HERMES_TEST_INSTALL is not set")
ASK = "from hermes.installed import how_installed; here = how_installed(containers=()); "
ASK += "print(here.kind); print(here.to_add({!r}))"
LIMIT_S = 600.0


def run(command: str, **more: str) -> str:
    env = {**os.environ, **more}
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=env,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def asked(python: Path, extra: str, **more: str) -> tuple[str, str]:
    told = run(f'"{python}" -P -c "{ASK.format(extra)}"', **more).splitlines()
    return told[0], told[1]


def test_pip_adds_the_extra_to_the_copy_that_named_the_command(tmp_path: Path) -> None:
    wheels, place = tmp_path / "wheels", tmp_path / "environment"
    wheels.mkdir()
    make_wheel(wheels, "1.0")
    files = {
        f"hermes/{name}": (ROOT / "src" / "hermes" / name).read_text(encoding="utf-8")
        for name in ("__init__.py", "installed.py")
    }
    needs = ["Provides-Extra: telegram", "Requires-Dist: feather>=1.0; extra == 'telegram'"]
    pack(wheels, "hermes-durable", "0.1.0", files, needs)
    offline = {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONPATH": sysconfig.get_path("purelib"),
    }
    run(f'"{sys.executable}" -m venv "{place}"')
    python = place / "bin" / "python"
    run(f'"{python}" -m pip install hermes-durable', **offline)
    kind, command = asked(python, "telegram", **offline)
    assert kind == "pip"
    run(command, **offline)
    assert run(f'"{python}" -c "import feather; print(feather.version)"', **offline) == "1.0\n"


@needs_index
def test_pipx_and_uv_add_the_extra_to_the_real_wheel(tmp_path: Path) -> None:
    for tool in ("pipx", "uv"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on the PATH")
    run(f'uv build --wheel --out-dir "{tmp_path}" "{ROOT}"')
    (wheel,) = tmp_path.glob("hermes_durable-*.whl")
    places = {
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(tmp_path / "bin"),
        "UV_TOOL_DIR": str(tmp_path / "uv"),
        "UV_TOOL_BIN_DIR": str(tmp_path / "uv-bin"),
    }
    run(f'pipx install "{wheel}"', **places)
    run(f'uv tool install "{wheel}"', **places)
    pythons = {
        "pipx": tmp_path / "pipx" / "venvs" / "hermes-durable" / "bin" / "python",
        "uv tool": tmp_path / "uv" / "hermes-durable" / "bin" / "python",
    }
    for wanted, python in pythons.items():
        kind, command = asked(python, "telegram", **places)
        assert kind == wanted
        run(command, **places)
        run(f'"{python}" -c "import telegram.ext, hermes.app.application"', **places)
