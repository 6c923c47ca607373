"""One `/tmp` for both hands, from outside, over restarts.

The file tools and the commands of one conversation see the same scratch place, and no one else's.
"""

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from uuid import uuid4

from hermes.testing.model import Asked, Body, Model, Says, terminal
from tests.process.gateway import gateway
from tests.process.looks import UNASKED

Calls = tuple[tuple[str, Body], ...]
HELLO = "print('hello from scratch')\n"


def is_there(path: str) -> bool:
    return os.path.lexists(path)


def obeys(calls: dict[str, Calls]) -> Callable[[Asked], Says]:
    """Make the calls that the person's word stands for, one at a time, then tell their results."""

    def rule(asked: Asked) -> Says:
        wanted, done = calls[asked.said], len(asked.results)
        return Says(calls=(wanted[done],)) if done < len(wanted) else Says(str(asked.results))

    return rule


async def test_both_hands_see_one_tmp_which_lasts_as_long_as_the_conversation(
    tmp_path: Path,
) -> None:
    with NamedTemporaryFile("w", encoding="utf-8", dir="/tmp", suffix=".txt") as foreign:
        foreign.write("of another program")
        foreign.flush()
        calls: dict[str, Calls] = {
            "make": (
                ("write_file", {"path": "/tmp/x.py", "content": HELLO}),
                terminal("python3 /tmp/x.py; echo $EDITOR/$PAGER/$GIT_TERMINAL_PROMPT"),
                terminal("echo kept > /tmp/y; mkdir -p ~/deep; echo home > ~/deep/z; cd /tmp/home"),
            ),
            "look": (
                ("read_file", {"path": "/tmp/y"}),
                terminal("pwd; cat /tmp/y /var/tmp/y deep/z"),
                ("search_files", {"pattern": "scratch", "path": "/tmp"}),
                ("read_file", {"path": "deep/z"}),
                ("patch", {"path": "/tmp/x.py", "old_string": "hello", "new_string": "bye"}),
                terminal("cat /tmp/x.py"),
            ),
            "spy": (
                ("read_file", {"path": foreign.name}),
                terminal(f"cat {foreign.name}"),
                terminal("ls -A /tmp; ls -A ~"),
                terminal("echo lost > /nowhere; echo lost > /var/x; echo lost > /srv/x"),
            ),
        }
        async with (
            Model(rule=obeys(calls)).up() as model,
            gateway(tmp_path, model, **UNASKED) as here,
        ):
            await here.start()
            made = (await here.say("make")).text
            assert "Created /tmp/x.py: 1 line" in made
            assert "hello from scratch" in made
            assert "true/cat/0" in made, "and no program waits for a person"
            await here.kill()
            await here.start()
            seen = (await here.say("look")).text
            assert "1|kept" in seen
            assert "/tmp/home\\nkept\\nkept\\nhome" in seen
            assert "/tmp/x.py:1:print(" in seen
            assert "1|home" in seen
            assert "bye from scratch" in seen
            assert str(here.home) not in seen, "the place on the disk is not the model's business"
            spied = (await here.say("spy")).text
            assert "of another program" not in spied
            assert f"{foreign.name} does not exist. /tmp is a place of this conversation" in spied
            assert "Read-only file system" in spied
            assert spied.count("exit status 1") == 2, "it fails, and says so"
            other = (await here.say("spy", "another")).text
            assert "x.py" not in other
            assert "deep" not in other
            await here.say("/new")
            again = (await here.say("spy")).text
            assert "x.py" not in again


async def test_without_a_sandbox_both_hands_see_the_tmp_of_the_machine(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model, **UNASKED) as here:
        name = f"/tmp/{uuid4()}.txt"
        model.rule = obeys(
            {
                "make": (
                    ("write_file", {"path": name, "content": "both\n"}),
                    terminal(f"cat {name}; rm {name}"),
                )
            }
        )
        here.configure(terminal={"sandbox": "none"})
        await here.start()
        assert "both" in (await here.say("make")).text.partition("Created")[2]
        assert not is_there(name)
