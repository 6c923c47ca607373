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
NODE_LEAST = 22
INSTALL_S_MAX = 900


class OpenClaw(Peer):
    name = "openclaw"
    label = "OpenClaw"
    how = (
        "`gateway` with its HTTP endpoint or its Telegram channel; `agent --local` for one question"
    )
    tool = ("exec", "command")
    health = "/healthz"

    def install(self, folder: Path) -> Installed:
        node, npm = _node(), shutil.which("npm")
        if npm is None:
            raise NotHere("there is no npm")
        (folder / "package.json").write_text("{}", encoding="utf-8")
        words = [npm, "install", "--silent", "--no-fund", "--no-audit"]
        cache = f"--cache={folder / 'cache'}"
        env = clean() | {"PATH": f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"}
        said = subprocess.run(
            [*words, cache, PACKAGE],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALL_S_MAX,
        )
        if said.returncode:
            raise NotHere(f"npm: {said.stderr.strip()[-200:]}")
        shutil.rmtree(folder / "cache", ignore_errors=True)
        modules = folder / "node_modules"
        lock = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))
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


def _node() -> str:
    """A recent Node: the first on the PATH, or the one that NODE names."""
    found = os.environ.get("NODE") or shutil.which("node")
    if found is None:
        raise NotHere("there is no Node")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if int(said.strip().lstrip("v").partition(".")[0]) < NODE_LEAST:
        raise NotHere(
            f"it needs Node {NODE_LEAST}, here is {said.strip()}; NODE=PATH names another"
        )
    return found
