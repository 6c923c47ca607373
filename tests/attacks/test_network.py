"""SBX-5 with a grant: the hosts that the owner allows, through the proxy, and nothing else."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId, SessionKey
from hermes.ports.sandbox import Sandbox
from hermes.ports.terminal import CommandLaunch, Ended
from hermes.terminals.local import LocalTerminal
from hermes.terminals.sandbox.proxy import granted, is_public
from tests.attacks.victim import Victim, boxed, demand_working, sandbox_of

HERE = "127.0.0.1"
ASK = r"""
ask() { exec 3<>/dev/tcp/127.0.0.1/3128 && printf "$1\r\n\r\n" >&3 && cat <&3; exec 3>&-; }
"""
CALL = CallId("turn-1")


def is_here(address: str) -> bool:
    """Stand in for `is_public`: allow only the one address that a test may reach."""
    return address == HERE


class Site:
    """A server on the internet: it returns the request that it received."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.port = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heard.append(head)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nREALLY")
        writer.close()


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    made = Site()
    server = await asyncio.start_server(made.answer, HERE, 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made


@pytest.fixture(params=["bubblewrap", "landlock", "landlock-users"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


Judge = Callable[[str], bool]


async def asked(kind: str, victim: Victim, hosts: tuple[str, ...], command: str) -> str:
    """Return what the command prints in a box with these hosts, while a gateway's proxy runs."""
    sandbox = sandbox_of(kind, victim, hosts=hosts)
    await asyncio.to_thread(demand_working, sandbox, victim)
    async with granted(victim.ours, hosts, is_here):
        return (await asyncio.to_thread(boxed, sandbox, victim, ASK + command, "net")).text


async def test_sbx_05_an_allowed_host_is_reached_and_counted(
    kind: str, victim: Victim, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "hermes.network")
    async with site() as there:
        host = f"localhost:{there.port}"
        line = f"GET http://{host}/a?b=c HTTP/1.1\\r\\nHost: evil\\r\\nProxy-Authorization: x"
        tunnel = rf"CONNECT {host} HTTP/1.1\r\n\r\nHEAD /tunnel HTTP/1.1"
        said = await asked(kind, victim, (host,), f"ask '{line}'; ask '{tunnel}'")
    assert "REALLY" in said
    assert "200 Connection established" in said
    assert there.heard[1].startswith(b"HEAD /tunnel")
    assert there.heard[0].startswith(b"GET /a?b=c HTTP/1.1\r\nHost: " + host.encode())
    assert b"evil" not in there.heard[0]
    assert b"Proxy" not in there.heard[0]
    assert f"talked to {host}: " in caplog.text
    assert "b=c" not in caplog.text


async def test_sbx_05_a_program_finds_the_proxy_by_its_environment(
    kind: str, victim: Victim
) -> None:
    async with site() as there:
        host = f"localhost:{there.port}"
        said = await asked(
            kind, victim, (host,), "env | grep -i _proxy | sort; ls -A /proc/self/fd"
        )
    assert "https_proxy=http://127.0.0.1:3128" in said
    assert "HTTP_PROXY=http://127.0.0.1:3128" in said


async def test_sbx_05_no_other_host_port_or_way_is_open(kind: str, victim: Victim) -> None:
    async with site() as there, site() as other:
        host = f"localhost:{there.port}"
        command = (
            f"ask 'CONNECT localhost:{other.port} HTTP/1.1'; "
            f"ask 'GET http://127.0.0.1:{there.port}/ HTTP/1.1'; "
            f"ask 'CONNECT localhost HTTP/1.1'; ask 'GET /x HTTP/1.1'; ask 'nonsense'; "
            f"ask 'POST http://{host}/ HTTP/1.1\\r\\nTransfer-Encoding: chunked'; "
            f"exec 4<>/dev/tcp/127.0.0.1/{there.port} && echo REACHED; "
            "(echo x >/dev/udp/1.1.1.1/53) && echo REACHED"
        )
        said = await asked(kind, victim, (host,), command)
        assert there.heard == other.heard == []
    assert "REACHED" not in said
    assert said.count("HTTP/1.1 403") == 2
    assert said.count("HTTP/1.1 400") == 3
    assert said.count("HTTP/1.1 411") == 1
    assert "not among terminal.allow_hosts" in said


async def test_net_02_an_allowed_name_that_leads_home_is_refused(kind: str, victim: Victim) -> None:
    sandbox = sandbox_of(kind, victim, hosts=("localhost",))
    await asyncio.to_thread(demand_working, sandbox, victim)
    async with site() as there, granted(victim.ours, (f"localhost:{there.port}",), is_public):
        command = f"{ASK} ask 'GET http://localhost:{there.port}/ HTTP/1.1'"
        said = (await asyncio.to_thread(boxed, sandbox, victim, command, "net")).text
        assert there.heard == []
    assert "an address that is not public" in said


async def test_c24_a_detached_command_keeps_its_network_across_gateways(
    kind: str, victim: Victim
) -> None:
    async with site() as there:
        hosts = (f"localhost:{there.port}",)
        sandbox = sandbox_of(kind, victim, hosts=hosts)
        await asyncio.to_thread(demand_working, sandbox, victim)
        line = f"GET http://{hosts[0]}/ HTTP/1.1"
        command = (
            f"{ASK} ask '{line}'; touch asked; until [ -e go ]; do sleep 0.05; done; ask '{line}'"
        )
        calls = victim.ours / "calls"
        terminal = LocalTerminal(calls, environ=os.environ, sandbox=sandbox, usual="net")
        try:
            async with granted(victim.ours, hosts, is_here):
                workdir = str(victim.workspace)
                await terminal.launch(
                    CommandLaunch(
                        id=CALL, session=SessionKey("s"), command=command, workdir=workdir
                    )
                )
                await until((victim.workspace / "asked").exists)
            (victim.workspace / "go").touch()
            async with granted(victim.ours, hosts, is_here):
                seen = await terminal.wait(CALL, 30)
            assert seen.state == Ended(0)
            assert (await terminal.read(CALL, 0, 10_000)).count(b"REALLY") == 2
        finally:
            await terminal.stop(CALL, "stopped")
            await terminal.close()


async def test_two_processes_of_a_home_take_turns_at_the_socket(kind: str, victim: Victim) -> None:
    async with site() as there:
        hosts = (f"localhost:{there.port}",)
        sandbox = sandbox_of(kind, victim, hosts=hosts)
        await asyncio.to_thread(demand_working, sandbox, victim)
        command = f"{ASK} ask 'GET http://{hosts[0]}/ HTTP/1.1'"
        async with granted(victim.ours, hosts, is_here):
            async with granted(victim.ours, hosts, is_here):
                said = (await asyncio.to_thread(boxed, sandbox, victim, command, "net")).text
                assert "REALLY" in said
            said = (await asyncio.to_thread(boxed, sandbox, victim, command, "net")).text
            assert "REALLY" in said


def test_sbx_05_without_networks_of_their_own_the_profile_is_refused(victim: Victim) -> None:
    sandbox: Sandbox = sandbox_of("landlock-plain", victim, hosts=("packages.example",))
    with pytest.raises(
        ToolFailed, match=r"no network here.*Nothing was run.*terminal\.allow_hosts"
    ):
        boxed(sandbox, victim, "true", "net")


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - another process makes it true
            await asyncio.sleep(0.02)


async def test_the_folder_of_the_socket_holds_nothing_else(victim: Victim) -> None:
    place = victim.ours / "network"
    async with granted(victim.ours, ("packages.example",), is_here):
        await until((place / "proxy").exists)
        assert os.listdir(place) == ["proxy"]  # noqa: PTH208
