"""How a copy was installed is told by what its installer left, and so is how to add to it."""

import shlex
from pathlib import Path

import pytest

from hermes.installed import Installation, how_installed, how_to_add

METADATA = """\
Metadata-Version: 2.4
Name: hermes-durable
Requires-Dist: apsw>=3.51.3.0
Provides-Extra: telegram
Requires-Dist: python-telegram-bot>=22.0; extra == 'telegram'
Provides-Extra: postgres
Requires-Dist: psycopg[binary]>=3.2; extra == "postgres"
"""


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    made = tmp_path / "my environment"
    made.mkdir()
    return made


def dist_info(prefix: Path, installer: str = "pip", url: str = "") -> str:
    """What an installer notes in an environment. Return the folder of its packages."""
    noted = prefix / "packages" / "hermes_durable-0.1.0.dist-info"
    noted.mkdir(parents=True)
    (noted / "METADATA").write_text(METADATA, encoding="utf-8")
    (noted / "INSTALLER").write_text(f"{installer}\n", encoding="utf-8")
    if url:
        text = f'{{"dir_info": {{}}, "url": "{url}"}}'
        (noted / "direct_url.json").write_text(text, encoding="utf-8")
    return str(noted.parent)


def found(prefix: Path, *path: str) -> Installation:
    return how_installed(prefix, path, containers=())


def test_a_clone_is_told_by_the_stamp_of_its_launcher(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "hermes").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "hermes").chmod(0o755)
    (prefix / "hermes-stamp").write_text(f"# run 1\nroot {tmp_path}\n", encoding="utf-8")
    here = found(prefix, dist_info(prefix))
    assert here.kind == "clone"
    assert how_to_add("telegram", here) == f"HERMES_WITH=telegram {tmp_path}/hermes --version"
    assert how_to_add("local", here) == f"HERMES_WITH=local {tmp_path}/hermes --version"


def test_pip_installs_into_the_interpreter_that_runs(prefix: Path) -> None:
    here = found(prefix, dist_info(prefix))
    python = shlex.quote(f"{prefix}/bin/python")
    assert here.kind == "pip"
    assert how_to_add("telegram", here) == f"{python} -m pip install 'hermes-durable[telegram]'"
    bare = "--no-deps xllamacpp"
    assert how_to_add("local", here) == f"{python} -m pip install {bare}"


def test_an_environment_that_uv_filled_has_no_pip(prefix: Path) -> None:
    here = found(prefix, dist_info(prefix, "uv"))
    python = shlex.quote(f"{prefix}/bin/python")
    wanted = f"uv pip install --python {python} 'hermes-durable[postgres]'"
    assert how_to_add("postgres", here) == wanted


def test_pipx_injects_what_the_extra_needs(prefix: Path) -> None:
    (prefix / "pipx_metadata.json").write_text("{}", encoding="utf-8")
    here = found(prefix, dist_info(prefix))
    assert here.kind == "pipx"
    wanted = "pipx inject hermes-durable 'python-telegram-bot>=22.0'"
    assert how_to_add("telegram", here) == wanted
    assert how_to_add("local", here).startswith("pipx runpip hermes-durable install --no-deps ")


@pytest.mark.parametrize("url", ["", "file:///srv/hermes"])
def test_uv_tool_installs_again_from_where_it_came(prefix: Path, url: str) -> None:
    (prefix / "uv-receipt.toml").write_text("[tool]\n", encoding="utf-8")
    here = found(prefix, dist_info(prefix, "uv", url))
    assert here.kind == "uv tool"
    source = f" @ {url}" if url else ""
    wanted = f"uv tool install --force 'hermes-durable[telegram]{source}'"
    assert how_to_add("telegram", here) == wanted


def test_a_source_that_runs_uninstalled_names_its_folder(prefix: Path) -> None:
    here = found(prefix)
    assert here.kind == "source"
    root = Path(__file__).parents[2]
    assert how_to_add("telegram", here).endswith(f" -m pip install '{root}[telegram]'")


def test_in_a_container_the_line_for_its_recipe_is_said_as_well(prefix: Path) -> None:
    mark = prefix / "mark"
    mark.touch()
    here = how_installed(prefix, [dist_info(prefix)], containers=(str(mark),))
    said = how_to_add("telegram", here)
    assert "-m pip install 'hermes-durable[telegram]'" in said
    assert "RUN line of its Dockerfile" in said
