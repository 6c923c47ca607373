"""nanobot: `serve` for HTTP, `gateway` for Telegram, `agent -m` for one question."""

import json
from collections.abc import Mapping
from pathlib import Path

from bench.peers import base
from bench.peers.base import LONG_KEY, PERSON, TOKEN, Ground, Installed, Launch, Peer

PACKAGE = "nanobot-ai[api]"
TELEGRAM = "python-telegram-bot[socks]"


class Nanobot(Peer):
    name = "nanobot"
    label = "nanobot"
    how = "`serve` for HTTP, `gateway` with its Telegram channel; `agent -m` for one question"
    settled = "nothing else"
    tool = ("exec", "command")

    def install(self, folder: Path) -> Installed:
        return base.environment(folder, PACKAGE)

    def equip(self, installed: Installed) -> None:
        base.add(Path(installed.program[0]), TELEGRAM)

    def version(self, installed: Installed) -> Launch:
        return Launch((*installed.program, "-m", "nanobot", "--version"))

    def ask(self, installed: Installed, ground: Ground, text: str) -> Launch:
        file = self._set_up(ground)
        words = ("-m", "nanobot", "agent", "-m", text, "--no-markdown", "--config", file)
        return Launch((*installed.program, *words), {}, ground.home)

    def gateway(self, installed: Installed, ground: Ground) -> Launch:
        file = self._set_up(ground)
        words: tuple[str, ...] = ("serve", "--port", str(ground.port))
        env: dict[str, str] = {}
        if ground.bot_api:
            words = ("gateway", "--foreground", "--port", str(ground.port))
            env = {"SSL_CERT_FILE": ground.authority}
        return Launch(
            (*installed.program, "-m", "nanobot", *words, "--config", file), env, ground.home
        )

    def request(self, session: str, text: str) -> tuple[Mapping[str, str], Mapping[str, object]]:
        said = [{"role": "user", "content": text}]
        return {}, {"model": "m", "messages": said, "session_id": session}

    def _set_up(self, ground: Ground) -> str:
        ground.workspace.mkdir(parents=True, exist_ok=True)
        defaults = {"provider": "custom", "model": "m", "workspace": str(ground.workspace)}
        custom = {"apiKey": LONG_KEY, "apiBase": ground.model_url}
        settings: dict[str, object] = {
            "agents": {"defaults": defaults},
            "providers": {"custom": custom},
        }
        if ground.bot_api:
            bot = {"enabled": True, "token": TOKEN, "allowFrom": [str(PERSON)]}
            telegram = {**bot, "proxy": ground.proxy}
            settings["channels"] = {"telegram": telegram, "websocket": {"enabled": False}}
        file = ground.home / "config.json"
        file.write_text(json.dumps(settings), encoding="utf-8")
        return str(file)
