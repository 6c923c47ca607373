"""One unreadable event does not lock its conversation for ever, seen from outside."""

import asyncio
import sys
from pathlib import Path

import apsw

from hermes.testing.model import Asked, Model, Says, plain
from tests.process.gateway import GatewayProcess, gateway

JSONL = ("--events", "--format", "jsonl")
BROKEN = '{"type":"turn_marked.1","turn":"t","why":"shutdown_timeout","at":"soon"}'
EVENT = """UPDATE journal SET event = CAST(? AS BLOB) WHERE n = (
    SELECT tail FROM sessions WHERE key = 'agent:main:api:dm:bad')"""


async def damaged(here: GatewayProcess) -> None:
    """Damage the last event of a session of the running gateway: its time becomes text."""
    await here.start()
    for name in ("good", "bad"):
        assert (await here.say("hello", name, key=name)).status == 200
    await here.stop()
    file = apsw.Connection(str(here.home / "hermes.db"))
    file.execute(EVENT, (BROKEN,))
    assert file.changes() == 1
    file.close()
    await here.start()


async def command(here: GatewayProcess, *words: str) -> tuple[int, str]:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "hermes", *words),
        env=here.environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(child.communicate(), 60.0)
    return child.returncode or 0, said.decode()


async def test_a_session_that_cannot_be_read_is_named_and_left_by_new(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await damaged(here)
        refused = await here.say("still there?", "bad", key="b1")
        assert refused.status >= 400
        assert "Send /new" in refused.body["error"]["message"]
        states = {row["name"]: row for row in await here.hermes("sessions", "list", "--json")}
        assert "cannot be read" in states["api:dm:bad"]["unreadable"]
        assert states["api:dm:good"]["unreadable"] == ""
        status, told = await command(here, "doctor", "--no-calls")
        assert status == 1
        assert "api:dm:bad cannot be read" in told
        status, told = await command(here, "sessions", "export", "api:dm:bad", *JSONL)
        assert status == 0
        assert '"type":"message_received.1"' in told
        assert '"type":"unreadable"' in told
        assert (await here.say("/new", "bad", key="b2")).status == 200
        assert (await here.say("hello again", "bad", key="b3")).text == "You said: hello again"
        row = await here.session("bad")
        assert (row["phase"], row["waiting"], row["unreadable"]) == ("idle", 0, "")
        status, told = await command(here, "doctor", "--no-calls")
        assert "can be read" in told
        await here.stop()
        await here.start()
        assert (await here.say("and now", "bad", key="b4")).text == "You said: and now"


async def test_a_session_that_cannot_be_read_is_suspended_and_deleted(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await damaged(here)
        assert (await here.say("still there?", "bad", key="b1")).status >= 400
        status, told = await command(here, "sessions", "suspend", "api:dm:bad")
        assert (status, "Suspended" in told) == (0, True), told
        assert (await here.session("bad"))["suspended"] is True
        await here.stop()
        file = apsw.Connection(str(here.home / "hermes.db"))
        file.execute(EVENT, (BROKEN,))
        file.close()
        await here.start()
        assert (await here.say("still there?", "bad", key="b2")).status >= 400
        status, told = await command(here, "sessions", "delete", "api:dm:bad", "--yes")
        assert (status, "Deleted" in told) == (0, True), told
        assert (await here.say("hello", "bad", key="b3")).text == "You said: hello"


async def test_the_mark_of_an_interrupted_turn_is_shown_with_its_time(tmp_path: Path) -> None:
    async def rule(asked: Asked) -> Says:
        if "wait" in asked.said:
            await model.hold("wait")
        return plain(asked)

    async with Model(rule=rule).up() as model, gateway(tmp_path, model) as here:
        here.configure(gateway={"drain_timeout_s": 0.2})
        await here.start()
        asking = asyncio.create_task(here.say("wait", key="k"))
        await model.reached("wait")
        assert await here.stop() == 0
        asking.cancel()
        shown = (await here.hermes("sessions", "show", "api:dm:main", "--json"))["session"]
        assert shown["mark"] == "shutdown_timeout"
        assert shown["marked_at"] >= shown["created_at"]
