"""Ours, from this checkout, as a person starts it: ./hermes makes the environment it needs."""

import json
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

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "__pycache__", "*.pyc", ".*_cache")


class Ours(Peer):
    name = "hermes"
    label = "Hermes"
    how = "`gateway run` with the API or Telegram; `chat -q` for one question"
    settled = "nothing else; commands run in its sandbox, which is on by itself"

    def install(self, folder: Path) -> Installed:
        """A copy of the checkout, which then makes its own environment in itself."""
        copy = folder / "hermes"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        env = clean() | {"PIP_NO_CACHE_DIR": "1", "XDG_CACHE_HOME": str(folder / "cache")}
        words = [str(copy / "hermes"), "--version"]
        said = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
        where = copy / ".venv"
        if said.returncode or not where.is_dir():
            raise NotHere(f"its environment was not made: {said.stderr.strip()[-300:]}")
        packages = len(list(where.rglob("*.dist-info")))
        return Installed(where, (str(copy / "hermes"),), packages=packages)

    def equip(self, installed: Installed) -> None:
        env = clean() | {"HERMES_WITH": "telegram"}
        subprocess.run([*installed.program, "--version"], env=env, check=True, capture_output=True)

    def version(self, installed: Installed) -> Launch:
        return Launch((*installed.program, "--version"))

    def ask(self, installed: Installed, ground: Ground, text: str) -> Launch:
        self._set_up(ground)
        env = {"HERMES_HOME": str(ground.home)}
        return Launch((*installed.program, "chat", "-q", text), env, ground.workspace)

    def gateway(self, installed: Installed, ground: Ground) -> Launch:
        self._set_up(ground)
        env = {"HERMES_HOME": str(ground.home)}
        return Launch((*installed.program, "gateway", "run"), env, ground.workspace)

    def request(self, session: str, text: str) -> tuple[Mapping[str, str], Mapping[str, object]]:
        headers = {"authorization": f"Bearer {LONG_KEY}", "x-hermes-session-id": session}
        return headers, {"model": "hermes", "messages": [{"role": "user", "content": text}]}

    def _set_up(self, ground: Ground) -> None:
        ground.home.chmod(0o700)
        ground.workspace.mkdir(exist_ok=True)
        model = {"provider": "custom", "base_url": ground.model_url, "name": "m"}
        platforms: dict[str, object] = {}
        if ground.port:
            platforms["api"] = {"enabled": True, "port": ground.port, "key": LONG_KEY}
        if ground.bot_api:
            bot = {"enabled": True, "token": TOKEN, "api_base": ground.bot_api}
            platforms["telegram"] = {**bot, "allowed_users": [PERSON]}
        settings = {
            "model": {**model, "api_key": "k", "context_length": 200_000},
            "platforms": platforms,
        }
        file = ground.home / "config.yaml"
        file.write_text(json.dumps(settings), encoding="utf-8")
        file.chmod(0o600)
