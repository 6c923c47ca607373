"""What the doctor checks outside: the model, the platforms, the clock, the service."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.doubles.shop import TOKEN, Shop

from hermes.cli.gateway.service.units import service_name
from journey.cli_program import Program


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Shop().open() as shop:
        yield shop


@pytest.fixture
def hermes(tmp_path: Path, shop: Shop) -> Program:
    program = Program(tmp_path)
    program.environ |= {
        "HERMES_MODEL__PROVIDER": "custom",
        "HERMES_MODEL__NAME": "small-1",
        "HERMES_MODEL__BASE_URL": shop.url,
        "CUSTOM_API_KEY": "sk-right",
    }
    return program


def checks(hermes: Program, *words: str) -> dict[str, Any]:
    done = hermes.run("doctor", "--json", *words)
    found = {check["check"]: check for check in done.document["checks"]}
    wrong = [check for check in done.document["checks"] if not check["ok"]]
    assert (done.status == 1, done.document["ok"]) == (bool(wrong), not wrong)
    assert all(check["fix"] for check in wrong), wrong
    return found


def test_the_model_is_really_asked(hermes: Program, shop: Shop) -> None:
    found = checks(hermes)
    assert "custom:small-1 answered in" in found["model"]["detail"]
    assert len(shop.asked) == 1
    assert {
        "python",
        "disk",
        "database",
        "sandbox",
        "model",
        "channels",
        "clock",
        "service",
    } <= set(found)


def test_what_the_owner_switched_off_is_shown_as_a_choice(hermes: Program) -> None:
    assert "Hermes asks you" in checks(hermes, "--no-calls")["approvals"]["detail"]
    hermes.environ |= {"HERMES_APPROVALS__MODE": "allow", "HERMES_TERMINAL__SANDBOX": "none"}
    found = checks(hermes, "--no-calls")
    assert "(your choice), so Hermes never asks" in found["approvals"]["detail"]
    assert "(your choice), so commands have your rights" in found["sandbox"]["detail"]


def test_nobody_is_asked_when_that_is_said(hermes: Program, shop: Shop) -> None:
    found = checks(hermes, "--no-calls")
    assert found["model"]["ok"]
    assert (shop.asked, shop.keys) == ([], [])


def test_a_wrong_key_is_mended_by_one_command(hermes: Program) -> None:
    hermes.environ["CUSTOM_API_KEY"] = "sk-wrong"
    found = checks(hermes)
    assert not found["model"]["ok"]
    assert found["model"]["fix"] == "hermes config set CUSTOM_API_KEY -"
    assert "sk-wrong" not in str(found)


def test_a_server_that_is_not_there_is_told(hermes: Program) -> None:
    hermes.environ["HERMES_MODEL__BASE_URL"] = "http://127.0.0.1:1/v1"
    found = checks(hermes)
    assert "cannot connect" in found["model"]["detail"]
    assert found["model"]["fix"] == "hermes model"


def test_a_clock_that_is_wrong_is_told(hermes: Program, shop: Shop) -> None:
    assert checks(hermes)["clock"]["ok"]
    shop.skew_s = 3600.0
    found = checks(hermes)["clock"]
    assert (found["ok"], "behind" in found["detail"]) == (False, True)
    assert found["fix"] == "sudo timedatectl set-ntp true"


def test_a_bot_is_asked_who_it_is(hermes: Program, shop: Shop) -> None:
    hermes.environ |= {
        "HERMES_PLATFORMS__TELEGRAM__API_BASE": shop.bots,
        "TELEGRAM_BOT_TOKEN": TOKEN,
    }
    assert checks(hermes)["telegram"]["detail"] == "@my_bot is known there: https://t.me/my_bot"
    whole = hermes.run("doctor", "--json", "--verbose").document["checks"]
    (detail,) = [each["detail"] for each in whole if each["check"] == "telegram"]
    assert "files up to 50 MB, up to 20 buttons" in detail
    hermes.environ["TELEGRAM_BOT_TOKEN"] = TOKEN.replace("a", "b")
    found = checks(hermes)["telegram"]
    assert (found["ok"], found["fix"]) == (False, "hermes config set TELEGRAM_BOT_TOKEN -")
    hermes.environ["HERMES_PLATFORMS__TELEGRAM__API_BASE"] = "http://127.0.0.1:1"
    assert "cannot be reached" in checks(hermes)["telegram"]["detail"]
    del hermes.environ["TELEGRAM_BOT_TOKEN"]
    assert not checks(hermes)["telegram"]["ok"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="systemd is Linux's")
def test_a_service_that_does_not_answer_is_told(hermes: Program) -> None:
    assert checks(hermes, "--no-calls")["service"]["ok"]
    folder = hermes.folder / ".config" / "systemd" / "user"
    folder.mkdir(parents=True)
    name = service_name(hermes.home, hermes.folder / ".hermes")
    (folder / f"{name}.service").write_text("[Unit]\n")
    hermes.environ["PATH"] = "/nowhere"
    found = checks(hermes, "--no-calls")["service"]
    assert (found["ok"], "is not available" in found["detail"]) == (False, True)
