"""Hermes Agent: its gateway with the API server, or with Telegram."""

import json
from collections.abc import Mapping
from pathlib import Path

from bench.peers import base
from bench.peers.base import LONG_KEY, PERSON, TOKEN, Ground, Installed, Launch, Peer

PACKAGE = "hermes-agent"
AIOHTTP = "aiohttp"  # its API server needs it
TELEGRAM = "python-telegram-bot[webhooks]==22.6"  # what its own extra of that name asks for


class HermesAgent(Peer):
    name = "hermes-agent"
    label = "Hermes Agent"
    how = "`gateway run` with its API server or its Telegram adapter; `chat -q` for one question"
    settled = "no limit of runs at a time (10 otherwise)"

    def install(self, folder: Path) -> Installed:
        return base.environment(folder, PACKAGE, AIOHTTP)

    def equip(self, installed: Installed) -> None:
        base.add(Path(installed.program[0]), TELEGRAM)

    def version(self, installed: Installed) -> Launch:
        return Launch((*installed.program, "-m", "hermes_cli.main", "--version"))

    def ask(self, installed: Installed, ground: Ground, text: str) -> Launch:
        words = (*installed.program, "-m", "hermes_cli.main", "chat", "-Q", "-q", text)
        return Launch(words, self._set_up(ground), ground.home)

    def gateway(self, installed: Installed, ground: Ground) -> Launch:
        env = dict(self._set_up(ground))
        if ground.port:
            env |= {"API_SERVER_ENABLED": "true", "API_SERVER_KEY": LONG_KEY}
            env |= {"API_SERVER_PORT": str(ground.port)}
        if ground.bot_api:
            env |= {"TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_ALLOWED_USERS": str(PERSON)}
        words = (*installed.program, "-m", "hermes_cli.main", "gateway", "run")
        return Launch(words, env, ground.home)

    def request(self, session: str, text: str) -> tuple[Mapping[str, str], Mapping[str, object]]:
        headers = {"authorization": f"Bearer {LONG_KEY}", "x-hermes-session-id": session}
        return headers, {"model": "hermes", "messages": [{"role": "user", "content": text}]}

    def _set_up(self, ground: Ground) -> Mapping[str, str]:
        ground.workspace.mkdir(parents=True, exist_ok=True)
        model = {"provider": "custom", "base_url": ground.model_url, "default": "m"}
        settings: dict[str, object] = {
            "model": {**model, "api_key": LONG_KEY, "context_length": 200_000},
            "terminal": {"cwd": str(ground.workspace)},
            "gateway": {"api_server": {"max_concurrent_runs": 0}},  # no limit; 10 otherwise
        }
        if ground.bot_api:
            extra = {"base_url": f"{ground.bot_api}/bot", "base_file_url": f"{ground.bot_api}/file"}
            settings["platforms"] = {"telegram": {"enabled": True, "extra": extra}}
        (ground.home / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")
        return {"HERMES_HOME": str(ground.home)}
