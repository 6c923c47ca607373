"""AUD-1: every change of a setting is in the audit log, however it was made."""

import json
from pathlib import Path
from typing import Any

from tests.process.gateway import GatewayProcess, gateway

from hermes.testing.model import Model


async def configured(here: GatewayProcess) -> list[tuple[str, dict[str, Any]]]:
    rows = await here.hermes("audit", "show", "--json")
    bodies = [row["body"] for row in rows if row["kind"] == "configured"]
    return [(body["by"], body["changed"]) for body in bodies]


async def test_aud_01_a_setting_that_was_changed_in_any_way_is_recorded(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        [(by, first)] = await configured(here)
        assert by == "the gateway that starts"
        assert first["model.name"] == "double"
        assert first["model.api_key"] == first["platforms.api.key"] == "(secret)"
        await here.hermes("config", "set", "approvals.mode", "allow")
        await here.hermes("config", "set", "OPENAI_API_KEY", "sk-a-secret-of-the-owner")
        assert (await configured(here))[1:] == [
            ("hermes config set", {"approvals.mode": "allow"}),
            ("hermes config set", {".env OPENAI_API_KEY": "(secret)"}),
        ]
        await here.kill()
        here.configure(people={"strangers": "request"})  # like an editor, which resets the mode
        await here.start()
        [*_, (by, changed)] = await configured(here)
        assert by == "the gateway that starts"
        assert changed == {"approvals.mode": "(default)", "people.strangers": "request"}
        before = await configured(here)
        await here.kill()
        await here.start()
        assert await configured(here) == before, "nothing has changed, and nothing is said"
        assert "sound" in await here.hermes("audit", "verify")
        kept = (here.home / "hermes.db").read_bytes() + (here.home / "audit.settings").read_bytes()
        assert b"sk-a-secret-of-the-owner" not in kept


async def test_aud_01_whoever_removes_the_note_is_told_on(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        await here.kill()
        (here.home / "audit.settings").write_text(json.dumps(["no record"]), encoding="utf-8")
        await here.start()
        assert len(await configured(here)) == 2
        assert (here.home / "audit.settings").stat().st_mode & 0o777 == 0o600
