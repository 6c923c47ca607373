"""OpenClaw: its gateway with the HTTP endpoint or Telegram; `agent --local` for one question."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from bench.peers.base import (
    LONG_KEY,
    PERSON,
    TOKEN,
    Ground,
    Installed,
    Launch,
    NotHere,
    Peer,
    clean,
)

PACKAGE = "openclaw"
NODE_LEAST = (24, 16)  # of the line that it supports for long
INSTALL_S_MAX = 900


class OpenClaw(Peer):
    name = "openclaw"
    label = "OpenClaw"
    how = (
        "`gateway` with its HTTP endpoint or its Telegram channel; `agent --local` for one question"
    )
    settled = "its HTTP endpoint is switched on"
    tool = ("exec", "command")
    health = "/healthz"

    def prepare(self, folder: Path) -> None:
        _node(folder)

    def install(self, folder: Path) -> Installed:
        node = _node(folder)
        where = folder / "package"
        where.mkdir()
        _npm(where, node, PACKAGE)
        modules = where / "node_modules"
        lock = json.loads((where / "package-lock.json").read_text(encoding="utf-8"))
        program = (node, str(modules / PACKAGE / "openclaw.mjs"))
        return Installed(modules, program, packages=len(lock["packages"]) - 1)

    def equip(self, installed: Installed) -> None:
        """It has all of it from the start."""

    def version(self, installed: Installed) -> Launch:
        return Launch((*installed.program, "--version"))

    def ask(self, installed: Installed, ground: Ground, text: str) -> Launch:
        env = self._set_up(ground)
        words = ("agent", "--local", "--session-id", "one", "--message", text)
        return Launch((*installed.program, *words), env, ground.home)

    def gateway(self, installed: Installed, ground: Ground) -> Launch:
        env = self._set_up(ground)
        words = ("gateway", "--port", str(ground.port), "--allow-unconfigured")
        return Launch((*installed.program, *words), env, ground.home)

    def request(self, session: str, text: str) -> tuple[Mapping[str, str], Mapping[str, object]]:
        headers = {"authorization": f"Bearer {LONG_KEY}"}
        said = [{"role": "user", "content": text}]
        return headers, {"model": "openclaw", "messages": said, "user": session}

    def _set_up(self, ground: Ground) -> Mapping[str, str]:
        ground.workspace.mkdir(parents=True, exist_ok=True)
        model = {"id": "m", "name": "m", "reasoning": False, "input": ["text"]}
        cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
        limits = {"contextWindow": 200_000, "maxTokens": 8192}
        provider = {
            "baseUrl": ground.model_url,
            "apiKey": LONG_KEY,
            "api": "openai-completions",
            "models": [{**model, "cost": cost, **limits}],
        }
        endpoints = {"chatCompletions": {"enabled": True}}
        settings: dict[str, object] = {
            "models": {"mode": "merge", "providers": {"mock": provider}},
            "agents": {
                "defaults": {"model": {"primary": "mock/m"}, "workspace": str(ground.workspace)}
            },
            "gateway": {
                "mode": "local",
                "bind": "loopback",
                "auth": {"mode": "token", "token": LONG_KEY},
                "http": {"endpoints": endpoints},
            },
        }
        if ground.bot_api:
            bot = {"enabled": True, "botToken": TOKEN, "apiRoot": ground.bot_api}
            network = {"dangerouslyAllowPrivateNetwork": True}
            people = {"dmPolicy": "allowlist", "allowFrom": [str(PERSON)]}
            settings["channels"] = {"telegram": {**bot, **people, "network": network}}
        file = ground.home / "openclaw.json"
        file.write_text(json.dumps(settings), encoding="utf-8")
        return {"OPENCLAW_CONFIG_PATH": str(file), "OPENCLAW_STATE_DIR": str(ground.home / "state")}


def _node(folder: Path) -> str:
    """One that is recent enough: from the PATH, or else from the registry."""
    found = shutil.which("node")
    if found is None:
        raise NotHere("there is no Node and no npm")
    if _release(found) >= NODE_LEAST:
        return found
    where = folder / "node"
    fetched = str(where / "node_modules" / "node" / "bin" / "node")
    if not where.exists():
        where.mkdir()
        _npm(where, found, f"node@{NODE_LEAST[0]}")
    if _release(fetched) < NODE_LEAST:
        wanted = ".".join(map(str, NODE_LEAST))
        raise NotHere(f"it needs Node {wanted}, and the registry has none for here")
    return fetched


def _release(node: str) -> tuple[int, ...]:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(int(part) for part in said.strip().lstrip("v").split(".") if part.isdigit())


def _npm(folder: Path, node: str, package: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NotHere("there is no npm")
    (folder / "package.json").write_text("{}", encoding="utf-8")
    cache = folder / "cache"
    words = [npm, "install", "--silent", "--no-fund", "--no-audit", f"--cache={cache}", package]
    env = clean() | {"PATH": f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"}
    said = subprocess.run(
        words,
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=INSTALL_S_MAX,
    )
    if said.returncode:
        raise NotHere(f"npm install {package}: {(said.stderr or said.stdout).strip()[-200:]}")
    shutil.rmtree(cache, ignore_errors=True)
