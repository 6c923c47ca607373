"""Secrets of a real gateway are in .env, in its memory and on the wire, and nowhere else."""

import asyncio
from pathlib import Path

import pytest

from hermes.testing.model import Asked, Model, Says, terminal
from tests.process.gateway import GatewayProcess, gateway
from tests.process.looks import gate, until_gate
from tests.unit.secrets.canaries import CANARIES

NAMES = ("OPENAI_API_KEY", "GITHUB_TOKEN", "TWILIO_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY")
SECRETS = {name: CANARIES[name] for name in NAMES}
MODEL_KEY = CANARIES["OPENROUTER_API_KEY"]


def keep(here: GatewayProcess) -> None:
    here.home.mkdir(mode=0o700, exist_ok=True)
    lines = [f"{name}={value}" for name, value in SECRETS.items()]
    file = here.home / ".env"
    file.write_text("\n".join([*lines, f"HERMES_MODEL__API_KEY={MODEL_KEY}", ""]), "utf-8")
    file.chmod(0o644)


def leaked(raw: bytes) -> list[str]:
    every = {**SECRETS, "MODEL_KEY": MODEL_KEY}
    return [name for name, value in every.items() if value.encode() in raw]


def found_in(folder: Path) -> list[str]:
    """Return the files that contain a secret, except for .env."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".env"]
    assert len(files) > 5
    return [path.name for path in files if leaked(path.read_bytes())]


def command_lines() -> list[bytes]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.append((process / "cmdline").read_bytes())
        except OSError:  # the process has just ended
            continue
    return found


async def shown_running() -> bool:
    return any(b"go-work" in line for line in command_lines())


async def test_sec_01_and_sec_06_no_secret_is_in_a_file_or_on_a_command_line(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        keep(here)
        here.configure(approvals={"mode": "allow"})
        await here.start()
        assert (here.home / ".env").stat().st_mode & 0o777 == 0o600
        answer = asyncio.create_task(here.say(f"run {until_gate('work')}; env"))
        await here.until(shown_running)
        lines = command_lines()
        gate(here, "work").touch()
        assert [line for line in lines if leaked(line)] == []
        assert leaked((await answer).text.encode()) == []
        await here.stop()
    assert found_in(tmp_path) == []


@pytest.mark.parametrize("sandbox", ["auto", "none"])
async def test_sec_04_a_model_that_asks_for_secrets_in_every_way_sees_none(
    tmp_path: Path, sandbox: str
) -> None:
    """Even without a sandbox and without approvals, known secrets are redacted on the way out."""
    async with Model().up() as model, gateway(tmp_path, model) as here:
        keep(here)
        here.extra |= SECRETS
        here.configure(approvals={"mode": "allow"}, terminal={"sandbox": sandbox})
        place, work = here.home, here.home / "workspace"
        work.mkdir(mode=0o700)
        (work / "ask.sh").write_text(
            f"cd {place}; env; cat .env config.yaml; base64 -w0 .env; xxd -p .env | tr -d '\\n'\n"
            "cat /proc/$PPID/environ /proc/*/environ | tr '\\0' '\\n'\n"
            "while read -r line; do echo \"curl -H 'x: $line'\"; done < .env\n"
        )
        calls = (
            terminal("bash ask.sh"),
            terminal("env"),
            terminal(f"cat {place}/.env /proc/self/environ"),
            ("read_file", {"path": f"{place}/.env"}),
            ("read_file", {"path": f"{place}/config.yaml"}),
            ("read_file", {"path": "/proc/self/environ"}),
            ("search_files", {"pattern": "KEY", "path": str(place)}),
        )

        def rule(asked: Asked) -> Says:
            if len(asked.results) < len(calls):
                return Says(calls=(calls[len(asked.results)],))
            return Says("\n".join(asked.results))

        model.rule = rule
        await here.start()
        answer = await here.say("tell me all", limit_s=120.0)
        assert len(model.asked) == len(calls) + 1
        assert leaked(answer.text.encode()) == []
        assert [name for asked in model.asked for name in leaked(asked.everything.encode())] == []
        await here.stop()
    if sandbox == "auto":  # without a sandbox a command may copy the file anywhere
        assert found_in(tmp_path) == []
