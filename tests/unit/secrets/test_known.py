"""Which values are secrets, and that a process learns of a new one while it runs."""

import os
from pathlib import Path

import pytest

from hermes.secrets.known import secrets_in, secrets_of
from hermes.secrets.live import LOOK_S, VALUES_MAX, Sink, sink_of
from hermes.secrets.redactor import HIDDEN
from hermes.settings import Fallback, ModelSettings, Settings
from hermes.settings.shape import HonchoSection, MemorySection, StoreSection
from tests.unit.secrets.canaries import CANARIES

SETTINGS = Settings(
    model=ModelSettings(
        api_key="sk-model",
        headers={"Authorization": "Bearer header-1", "Content-Type": "application/json"},
        fallbacks=(Fallback(api_key="fallback-key-1", base_url="https://u:base-pass@h/v1"),),
    ),
    memory=MemorySection(honcho=HonchoSection(api_key="honcho-key-1")),
    store=StoreSection(url="postgresql://me:store-pass@db/hermes"),
    platforms={
        "telegram": {"token": "tg-token", "allowed_users": [1], "name": "visible"},
        "webhook": {"routes": [{"path": "/build", "secret": "route-secret"}]},
    },
    secrets={"OPENAI_API_KEY": "sk-openai", "PATH": "/usr/bin/python3.11", "SHELL": "/bin/bash"},
)


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def write(file: Path, text: str) -> None:
    """Replaced as `hermes config set` does it: in one step."""
    half = file.with_suffix(".half")
    half.write_text(text, "utf-8")
    half.replace(file)


def test_secrets_are_found_wherever_settings_hold_them() -> None:
    assert secrets_of(SETTINGS) == {
        *("sk-model", "Bearer header-1", "header-1", "fallback-key-1", "base-pass"),
        *("honcho-key-1", "store-pass", "tg-token", "route-secret", "sk-openai"),
    }


def test_what_is_no_secret_in_settings_stays_visible() -> None:
    sink = sink_of(Path("nowhere"), SETTINGS)
    said = "visible /usr/bin/python3.11 application/json postgresql://db/hermes /build 1"
    assert sink(said) == said


def test_where_the_shell_is_started_is_no_password() -> None:
    shell = {"PWD": "/srv/ada/work", "OLDPWD": "/srv/ada", "DB_PWD": "hunter-2"}
    sink = sink_of(Path("nowhere"), Settings(secrets=shell))
    assert sink("/srv/ada/work of /srv/ada, hunter-2").endswith(f"/srv/ada, {HIDDEN}")


def test_sec_01_every_kind_of_secret_of_the_file_for_secrets_is_known() -> None:
    known = secrets_in(CANARIES)
    assert [name for name, value in CANARIES.items() if value not in known] == []
    plain = {"HERMES_LOG": "debug", "TZ": "Europe/Berlin", "WORK": "/srv/project-2026/src/main"}
    assert secrets_in({**plain, "HERMES_GATEWAY__BUSY": "interrupt"}) == frozenset()
    assert secrets_in({"HERMES_STORE__URL": "postgresql://me:pw-1-pw@db/x"}) == {"pw-1-pw"}


def test_sec_07_a_rotated_secret_is_known_within_a_second_and_the_old_one_is_not_forgotten(
    tmp_path: Path,
) -> None:
    file, clock = tmp_path / ".env", Clock()
    write(file, "API_TOKEN=the-old-value-1\n")
    sink = Sink(file=file, clock=clock)
    assert sink("the-old-value-1 the-new-value-2") == f"{HIDDEN} the-new-value-2"
    write(file, "API_TOKEN=the-new-value-2\n")
    clock.now += LOOK_S
    assert LOOK_S <= 1.0
    assert sink("the-old-value-1 the-new-value-2") == f"{HIDDEN} {HIDDEN}"


def test_sec_07_a_secret_that_is_rotated_during_a_stream_is_hidden_in_it(tmp_path: Path) -> None:
    file, clock = tmp_path / ".env", Clock()
    write(file, "API_TOKEN=the-old-value-1\n")
    sink = Sink(file=file, clock=clock)
    stream = sink.stream()
    shown = stream.feed("say the-old-value-1 and the-new-")
    write(file, "API_TOKEN=the-new-value-2\n")
    clock.now += LOOK_S
    shown += stream.feed("value-2 now") + stream.close()
    assert shown == f"say {HIDDEN} and {HIDDEN} now"


def test_a_file_that_disappears_or_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    file, clock = tmp_path / ".env", Clock()
    write(file, "API_TOKEN=the-old-value-1\n")
    sink = Sink(file=file, clock=clock)
    assert sink("the-old-value-1") == HIDDEN
    file.write_bytes(b"\xff\xfe broken")
    clock.now += LOOK_S
    assert sink("the-old-value-1") == HIDDEN
    file.unlink()
    clock.now += LOOK_S
    assert sink("the-old-value-1") == HIDDEN
    assert "old" not in repr(sink)


def test_only_so_many_secrets_are_remembered() -> None:
    sink = Sink()
    sink.learn(f"secret-{n:05}" for n in range(VALUES_MAX + 1))
    assert sink("secret-00000 secret-00001") == f"secret-00000 {HIDDEN}"


def test_looking_at_the_file_is_cheap(tmp_path: Path) -> None:
    clock = Clock()
    file = tmp_path / ".env"
    write(file, "API_TOKEN=the-old-value-1\n")
    sink = Sink(file=file, clock=clock)
    sink("x")
    os.truncate(file, 0)
    write(file, "API_TOKEN=the-new-value-2\n")
    clock.now += LOOK_S / 2
    assert sink("the-new-value-2") == "the-new-value-2"
    clock.now += LOOK_S / 2
    assert sink("the-new-value-2") == HIDDEN


@pytest.mark.parametrize("name", list(CANARIES))
def test_sec_02_no_canary_of_the_home_passes_its_sink(tmp_path: Path, name: str) -> None:
    text = CANARIES[name].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    write(tmp_path / ".env", f'{name}="{text}"\n')
    sink = sink_of(tmp_path, Settings())
    assert sink(f"it is {CANARIES[name]}.").startswith(f"it is {HIDDEN}")
