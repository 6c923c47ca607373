"""A fork server of gateways: every line of its input is the life of one real process.

A life is the whole gateway (receivers, delivery, claims, heartbeat) on a home and one channel. It
kills itself with SIGKILL at the point that its order names, or is killed from outside.
"""

import asyncio
import gc
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from hermes.agent.toolsets import StaticToolset
from hermes.app.engine import Parts, serving
from hermes.core.channel import ChannelHost, Manifest
from hermes.core.messages import Effect, Inbound
from hermes.core.policy import Capability
from hermes.core.ports import Answer, ModelRequest, RawCall, Tool, ToolContext, ToolResult, ToolSpec
from hermes.core.store import Accepted
from hermes.gateway.border import GuardedChannel, GuardedScreen
from hermes.gateway.host import GatewayHost
from hermes.providers.scripted import Scripted
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite
from tests.contract.sending_channels import ADAPTERS, named

LOOK_S = 0.02
BEFORE_COMMIT, AFTER_COMMIT = "before the commit", "after the commit"
AFTER_SEND, AFTER_FILE = "after the send", "after the file"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class FusedHost(GatewayHost):
    """Die around the commit of a message."""

    point: str = ""

    async def accept(self, inbound: Inbound) -> Accepted:
        if self.point == BEFORE_COMMIT:
            die()
        accepted = await super().accept(inbound)
        if self.point == AFTER_COMMIT:
            die()
        return accepted


class FusedReceiver:
    """A channel that meets such a host."""

    def __init__(self, channel: Any, point: str) -> None:
        self._channel, self._point = channel, point

    @property
    def manifest(self) -> Manifest:
        return self._channel.manifest  # type: ignore[no-any-return]

    async def listen(self, host: ChannelHost) -> None:
        assert isinstance(host, GatewayHost)
        whole = {name: value for name, value in asdict(host).items() if name != "point"}
        await self._channel.listen(FusedHost(**whole, point=self._point))


class FusedChannel(GuardedChannel, frozen=True):
    """Die when the platform has a message and its receipt is not noted yet."""

    async def send(self, *given: Any, **more: Any) -> str:
        await self.channel.send(*given, **more)
        die()
        return ""


class FusedScreen(GuardedScreen, frozen=True):
    async def attach(self, *given: Any, **more: Any) -> str:
        await self.screen.attach(*given, **more)
        die()
        return ""


def noted(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(text) + "\n")


def notes(path: Path) -> list[str]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def answers(home: Path) -> Callable[[ModelRequest], Answer]:
    """`pay` makes a call that the owner is asked about; everything else is said back."""

    def rule(request: ModelRequest) -> Answer:
        last = request.lines[-1]
        if last.role == "tool":
            return Answer(text="It is paid.")
        noted(home / "asked", last.text)
        if last.text.endswith("pay"):
            return Answer(text="", calls=(RawCall("pay", "{}"),))
        return Answer(text=f"You said: {last.text}")

    return rule


def pay(home: Path) -> Tool:
    async def run(context: ToolContext) -> ToolResult:
        noted(home / "paid", str(context.call.id))
        return ToolResult(text="paid")

    return Tool(
        spec=ToolSpec(name="pay", description="pay", parameters='{"type":"object"}'),
        check=lambda _arguments: "",
        effect=lambda _arguments: Effect.EFFECT,
        run=run,
        capabilities=frozenset({Capability.LASTING}),
    )


async def live(order: dict[str, Any]) -> None:
    home, point = Path(order["home"]), order["point"]
    adapter = next(each for each in ADAPTERS if named(each) == order["channel"])
    channel = adapter.built(order["spec"], home)
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    parts = Parts(
        store=store,
        provider=Scripted(answers(home)),
        tools=StaticToolset([pay(home)]),
        channels=[channel],
        screens=adapter.screens_of(channel),
        media=FileMediaStore(home / "media"),
        role=lambda sender: adapter.role_of(channel, sender),
        mode="ask",
    )
    fused = point in (BEFORE_COMMIT, AFTER_COMMIT)
    serves = serving(parts, receivers=[FusedReceiver(channel, point) if fused else channel])
    delivery, name = serves.engine.delivery, channel.manifest.name
    if point == AFTER_SEND:
        held = delivery.channels[name]
        assert isinstance(held, GuardedChannel)
        delivery.channels = {**delivery.channels, name: FusedChannel(held.channel, held.note)}
    if point == AFTER_FILE:
        delivery.screens = {
            each: FusedScreen(each, screen.screen, screen.note)
            for each, screen in delivery.screens.items()
            if isinstance(screen, GuardedScreen)
        }

    def ready() -> None:
        whole = {"pid": os.getpid(), "port": adapter.port_of(channel)}
        half = home / f"half-{os.getpid()}"
        half.write_text(json.dumps(whole), encoding="utf-8")
        half.rename(home / f"ready-{os.getpid()}")

    await serves.run(ready, limit_s=1.0)


def one_life(order: dict[str, Any]) -> int:
    try:
        asyncio.run(live(order))
    except BaseException:  # noqa: BLE001 (whatever it was, the test must read it)
        (Path(order["home"]) / "traceback").write_text(traceback.format_exc(), encoding="utf-8")
        return 1
    return 0


def tell(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main() -> None:
    gc.freeze()
    children: set[int] = set()
    tell(ready=True)
    while True:
        if select.select([sys.stdin], [], [], LOOK_S if children else 1.0)[0]:
            line = sys.stdin.readline()
            if not line:
                break
            child = os.fork()
            if child == 0:
                os._exit(one_life(json.loads(line)))
            children.add(child)
            tell(began=child)
        for child in tuple(children):
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                children.discard(child)
                tell(ended=child, status=os.waitstatus_to_exitcode(status))
    for child in children:
        os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    main()
