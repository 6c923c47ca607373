"""TM-4: what we stored ourselves is input, too: plain data of a known shape, or nothing at all.

Somebody who can write to the database, or a backup that came from elsewhere, gets no code run, and
harms no conversation but the one that was tampered with.
"""

import contextlib
import json
import pickle
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.core.codec import decode_event, decode_line, decode_reply, decode_session
from hermes.core.errors import RowUnreadable
from hermes.testing.model import Model
from tests.attacks.test_people import ANN, bot, handled, shows
from tests.process.gateway import GatewayProcess, gateway
from tests.process.looks import idle


class Bomb:
    """Create a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = str(file)

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return open, (self.file, "w")


def constructor(file: Path) -> bytes:
    """Return a payload that made other frameworks import and call code."""
    made = {
        "lc": 2,
        "type": "constructor",
        "id": ["builtins", "open"],
        "method": "__call__",
        "args": [str(file), "w"],
        "kwargs": {"file": str(file), "mode": "w"},
    }
    return json.dumps({**made, "py/object": "builtins.open", "__reduce__": made}).encode()


def hostile(file: Path) -> dict[str, bytes]:
    deep = b"[" * 100_000 + b"]" * 100_000
    return {
        "constructor": constructor(file),
        "typed constructor": b'{"type":"message_received.1",' + constructor(file)[1:],
        "pickle": pickle.dumps(Bomb(file)),
        "unknown kind": b'{"type":"everything_allowed.1","at":1.0}',
        "later version": b'{"type":"turn_ended.99","turn":"t","outcome":"answered","at":1.0}',
        "half a surrogate": b'{"type":"fact_set.1","name":"\\ud800","value":"x","at":1.0}',
        "raw surrogate": b'{"type":"fact_set.1","name":"\xed\xa0\x80","value":"x","at":1.0}',
        "not a number": b'{"type":"fact_set.1","name":"x","value":"x","at":NaN}',
        "wrong type": b'{"type":"fact_set.1","name":["x"],"value":{"a":1},"at":"now"}',
        "deep": deep,
        "empty": b"",
        "nul": b"\0" * 64,
        "list": b"[]",
        "yaml": b"!!python/object/apply:builtins.open [" + str(file).encode() + b", w]",
    }


KINDS = sorted(hostile(Path("x")))


@pytest.mark.parametrize("kind", KINDS)
def test_tm_04_no_row_makes_us_import_or_call_anything(kind: str, tmp_path: Path) -> None:
    made = tmp_path / "made"
    raw = hostile(made)[kind]
    for decode in (decode_event, decode_session, decode_line, decode_reply):
        try:
            found: Any = decode(raw)
        except RowUnreadable:
            continue
        assert type(found).__module__.startswith("hermes.core"), "a value of our own shapes"
    assert not made.exists()


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8")))
@settings(max_examples=300, deadline=None)
def test_tm_04_any_bytes_are_a_value_of_ours_or_a_clear_error(raw: bytes) -> None:
    for decode in (decode_event, decode_session, decode_line, decode_reply):
        with contextlib.suppress(RowUnreadable):
            decode(raw)


EVENT = """UPDATE journal SET event = ? WHERE n = (
    SELECT tail FROM sessions WHERE key = 'agent:main:api:dm:bad')"""
READY = "UPDATE sessions SET ready = 1 WHERE key = 'agent:main:api:dm:bad'"
SNAPSHOT = """UPDATE snapshots SET state = ? WHERE session = (
    SELECT n FROM sessions WHERE key = 'agent:main:api:dm:bad')"""
ROWS = """UPDATE messages SET line = ? WHERE conversation IN (
    SELECT c.n FROM conversations c JOIN sessions s ON s.n = c.session
    WHERE s.key = 'agent:main:api:dm:bad')"""


def tamper(here: GatewayProcess, sql: str, *values: Any) -> None:
    file = apsw.Connection(str(here.home / "hermes.db"))
    try:
        file.execute(sql, values)
        assert file.changes() > 0, sql
    finally:
        file.close()


@pytest.mark.parametrize("kind", ["constructor", "pickle", "unknown kind", "later version", "deep"])
async def test_tm_04_a_lane_with_a_hostile_row_is_set_aside_and_the_others_go_on(
    tmp_path: Path, kind: str
) -> None:
    made = tmp_path / "made"
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        for name in ("good", "bad"):
            assert (await here.say("hello", name)).status == 200
            await idle(here, name)
        await here.kill()
        tamper(here, EVENT, hostile(made)[kind])
        tamper(here, READY)
        await here.start()
        for n in range(3):
            got = await here.say("still there?", "bad", key=f"b{n}")
            assert got.status >= 400
            assert "Send /new" in got.body["error"]["message"]
            assert (await here.say(f"hello {n}", "good")).text == f"You said: hello {n}"
        await here.kill()
        await here.start()
        assert (await here.say("again", "good")).text == "You said: again"
        assert (await here.say("hi", "new")).text == "You said: hi"
        assert not made.exists()
        assert here.output().count("is set aside") <= 4, "it is said, and not for ever"


async def test_tm_04_a_hostile_snapshot_is_no_session(tmp_path: Path) -> None:
    made = tmp_path / "made"
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        for n in range(25):
            await here.say(f"hello {n}", "bad")
        await here.say("hello", "good")
        await here.kill()
        tamper(here, SNAPSHOT, constructor(made))
        await here.start()
        assert (await here.say("hello", "bad")).text == "You said: hello", "by the journal alone"
        assert (await here.say("again", "good")).text == "You said: again"
        assert not made.exists()


async def test_tm_04_hostile_rows_of_the_transcript_cost_their_own_turn_only(
    tmp_path: Path,
) -> None:
    made = tmp_path / "made"
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        await here.say("hello", "bad")
        await here.say("hello", "good")
        await here.kill()
        tamper(here, ROWS, constructor(made).decode())
        await here.start()
        assert (await here.say("again", "bad")).status >= 200
        assert (await here.say("again", "good")).text == "You said: again"
        assert not made.exists()


async def test_tm_04_a_hostile_reply_is_not_sent_and_holds_up_no_other(tmp_path: Path) -> None:
    made = tmp_path / "made"
    async with bot(tmp_path) as (here, api, _model):
        await here.start()
        api.say("hello", chat=ANN, user=ANN)
        await shows(here, api, ANN, "You said: hello")
        await here.kill()
        evil = constructor(made).decode()
        tamper(here, "UPDATE outbox SET body = ?, state = 'pending'", evil)
        await here.start()
        api.say("and now?", chat=ANN, user=ANN)
        await shows(here, api, ANN, "You said: and now?")
        await handled(here, api)
        assert not made.exists()


async def test_tm_04_a_hostile_grant_allows_nothing_and_a_hostile_role_is_a_stranger(
    tmp_path: Path,
) -> None:
    made = tmp_path / "made"
    async with bot(tmp_path) as (here, api, model):
        await here.start()
        await here.hermes("pairing", "owner", "telegram:77", "--name", "Zoe")
        await here.kill()
        tamper(here, "UPDATE people SET role = 99")
        row = ("x", constructor(made), 9e12)
        tamper(here, "INSERT INTO grants (id, body, expires_at) VALUES (?, ?, ?)", *row)
        tamper(here, "UPDATE standing SET version = version + 1")
        await here.start()
        api.say("hello", chat=77, user=77)
        api.say("hello", chat=ANN, user=ANN)
        await shows(here, api, ANN, "You said: hello")
        assert len(model.asked) == 1
        assert not made.exists()
