"""A Bot API server on a real socket: it keeps chats, and fails when a test asks for it.

In a test: `async with BotApi() as api`. As a process: `python -m tests.doubles.telegram --port 0`
prints its port; then everything below /control/ does what the methods of the same name do.
"""

import argparse
import asyncio
import base64
import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any, Literal

from tests.doubles.telegram_chats import Chats, Json, Refusal, Shown
from tests.doubles.telegram_http import Asked, Cut, HttpServer, Said, Upload

TOKEN = "4242:TEST-token-of-the-double"
FOREVER_S = 3600.0

Kind = Literal["flood", "error", "hang", "cut", "lost", "unreadable", "refuse", "garbage", "odd"]


class Oddly(Exception):
    """Answer with exactly this."""

    def __init__(self, said: Said) -> None:
        super().__init__()
        self.said = said


@dataclass
class Fault:
    """A failure to inject. `cut` breaks the connection before anything is done, `lost` after it is
    done but before the answer. `odd` does nothing and answers with `body` as it is."""

    method: str
    kind: Kind
    times: int = 1
    retry_after: int = 3
    status: int = 400
    description: str = "Bad Request: chat not found"
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    missing: int = 0


@dataclass
class Called:
    method: str
    fields: dict[str, str]


class BotApi:
    """One bot, and everything that it and others wrote."""

    def __init__(self, *, token: str = TOKEN, username: str = "hermes_bot", port: int = 0) -> None:
        self.token, self.username = token, username
        self.id = int(token.partition(":")[0])
        self.updates: list[Json] = []
        self.confirmed = 0  # every update below this id was confirmed
        self.chats = Chats(self.id)
        self.calls: list[Called] = []
        self.faults: list[Fault] = []
        self.files: dict[str, bytes] = {}
        self.commands: list[Json] = []
        self.hook: dict[str, str] = {}
        self.answered: dict[str, str] = {}
        self.moved: dict[int, int] = {}  # a group's old id: its new one
        self._last_update = 0
        self._bell = asyncio.Event()
        self._poll = 0
        self.http = HttpServer(self._answer, port)

    async def __aenter__(self) -> "BotApi":
        await self.http.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.http.__aexit__(kind, error, trace)

    @property
    def url(self) -> str:
        return self.http.url

    def push(self, update: Json) -> Json:
        """Add any update; it gets its id here."""
        self._last_update += 1
        numbered = {**update, "update_id": update.get("update_id", self._last_update)}
        self.updates.append(numbered)
        self._bell.set()
        return numbered

    def say(self, text: str = "", *, chat: int = 7, user: int = 7, **more: Any) -> Json:
        """Add a person's message. `more` are fields of the message, or `name`, `type`, `title`."""
        name, kind = more.pop("name", "Ada"), more.pop("type", "private")
        title = more.pop("title", None)
        self.chats.last_message += 1
        place = {"id": chat, "type": kind, "title": title, "first_name": name}
        message = {
            "message_id": self.chats.last_message,
            "date": 1_700_000_000 + self.chats.last_message,
            "chat": {key: value for key, value in place.items() if value is not None},
            "from": {"id": user, "is_bot": False, "first_name": name},
            **({"text": text} if text else {}),
            **more,
        }
        self.chats.said[chat, self.chats.last_message] = (user, text)
        self.push({"message": message})
        return message

    def press(self, chat: int, message: int, data: str, *, user: int = 7, **place: Any) -> Json:
        """Press a button as a person."""
        shown = {"message_id": message, "chat": {"id": chat, "type": "private", **place}}
        who = {"id": user, "is_bot": False, "first_name": "Ada"}
        query = {"id": f"q{self._last_update + 1}", "from": who, "message": shown, "data": data}
        return self.push({"callback_query": query})

    def chat(self, chat: int = 7) -> list[Shown]:
        return list(self.chats.shown.get(chat, {}).values())

    def texts(self, chat: int = 7) -> list[str]:
        return [shown.text for shown in self.chat(chat)]

    def called(self, method: str) -> list[dict[str, str]]:
        return [call.fields for call in self.calls if call.method == method]

    def fault(self, method: str, kind: Kind, **more: Any) -> None:
        self.faults.append(Fault(method, kind, **more))

    async def _answer(self, asked: Asked) -> Said:
        if asked.path.startswith("/control/"):
            return control(self, asked)
        prefix = f"/file/bot{self.token}/"
        if asked.path.startswith(prefix):
            return await self._download(asked.path.removeprefix(prefix))
        token, _, method = asked.path.removeprefix("/bot").partition("/")
        if token != self.token:
            return _refused(Refusal(401, "Unauthorized"))
        fields, files = asked.form()
        self.calls.append(Called(method, fields))
        try:
            lost = await self._fail(method)
            self._follow(int(fields.get("chat_id", 0)))
            result = await self._do(method, fields, files)
        except Refusal as refusal:
            return _refused(refusal)
        except Oddly as oddly:
            return oddly.said
        if lost:
            raise Cut
        return Said(200, json.dumps({"ok": True, "result": result}).encode())

    async def _download(self, name: str) -> Said:
        try:
            await self._fail("file")
        except Refusal as refusal:
            return _refused(refusal)
        except Oddly as oddly:
            return oddly.said
        content = self.files.get(name)
        return Said(200, content) if content is not None else Said(404, b"{}")

    def _follow(self, chat: int) -> None:
        if chat in self.moved:
            told = "Bad Request: group chat was upgraded to a supergroup chat"
            raise Refusal(400, told, {"migrate_to_chat_id": self.moved[chat]})

    async def _fail(self, method: str) -> bool:
        """Apply the injected failure. Return True if it takes effect only after the call was
        done."""
        fault = next((f for f in self.faults if f.method in (method, "*")), None)
        if fault is None:
            return False
        fault.times -= 1
        if fault.times <= 0:
            self.faults.remove(fault)
        match fault.kind:
            case "flood":
                told = f"Too Many Requests: retry after {fault.retry_after}"
                raise Refusal(429, told, {"retry_after": fault.retry_after})
            case "error":
                raise Refusal(500, "Internal Server Error")
            case "hang":
                await asyncio.sleep(FOREVER_S)
            case "cut":
                raise Cut
            case "unreadable":
                raise Refusal(400, "Bad Request: can't parse entities: because a test says so")
            case "refuse":
                raise Refusal(fault.status, fault.description)
            case "garbage":
                raise Refusal(502, "")
            case "odd":
                kind, headers = "application/json", fault.headers
                body = fault.body.encode("utf-8", "surrogateescape")
                raise Oddly(Said(fault.status, body, kind, headers, fault.missing))
            case "lost":
                return True
        return False

    async def _do(self, method: str, fields: dict[str, str], files: dict[str, Upload]) -> Any:
        match method:
            case "getMe":
                return {"id": self.id, "is_bot": True, "first_name": "H", "username": self.username}
            case "getUpdates":
                return await self._get_updates(fields)
            case "sendPhoto" | "sendDocument" | "sendVoice":
                kind = method.removeprefix("send").lower()
                return self.chats.send(fields, media=kind, file=files.get(kind))
            case "sendMessage":
                return self.chats.send(fields)
            case "editMessageText":
                return self.chats.edit(fields)
            case "editMessageReplyMarkup":
                return self.chats.edit_buttons(fields)
            case "forwardMessage":
                return self.chats.forward(fields)
            case "setMessageReaction":
                return self.chats.react(fields)
            case "deleteMessage":
                return self.chats.delete(fields)
        return self._settle(method, fields)

    async def _get_updates(self, fields: dict[str, str]) -> list[Json]:
        if self.hook:
            raise Refusal(409, "Conflict: can't use getUpdates method while webhook is active")
        self._poll += 1
        mine, offset = self._poll, int(fields.get("offset", 0))
        self.confirmed = max(self.confirmed, offset)
        self.updates = [one for one in self.updates if one["update_id"] >= self.confirmed]
        self._bell.set()  # end the previous poll
        loop = asyncio.get_running_loop()
        until = loop.time() + float(fields.get("timeout", 0))
        while not self.updates and mine == self._poll and loop.time() < until:
            self._bell.clear()
            try:
                await asyncio.wait_for(self._bell.wait(), until - loop.time())
            except TimeoutError:
                break
        if mine != self._poll:
            raise Refusal(409, "Conflict: terminated by other getUpdates request")
        return self.updates[: int(fields.get("limit", 100))]

    def _settle(self, method: str, fields: dict[str, str]) -> Any:
        match method:
            case "sendChatAction":
                pass
            case "answerCallbackQuery":
                self.answered[fields["callback_query_id"]] = fields.get("text", "")
            case "setMyCommands":
                self.commands = json.loads(fields["commands"])
            case "setWebhook":
                self.hook = dict(fields)
            case "deleteWebhook":
                self.hook = {}
            case "getFile":
                return self._file(fields["file_id"])
            case _:
                raise Refusal(404, "Not Found: method not found")
        return True

    def _file(self, name: str) -> Json:
        if name not in self.files:
            raise Refusal(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        size = len(self.files[name])
        return {"file_id": name, "file_unique_id": name, "file_path": name, "file_size": size}


def control(api: BotApi, asked: Asked) -> Said:
    """Call the method of that name from another process."""
    given: Json = json.loads(asked.body) if asked.body else {}
    match asked.path.removeprefix("/control/"):
        case "push":
            result: Any = api.push(given)
        case "say":
            result = api.say(**given)
        case "press":
            result = api.press(**given)
        case "fault":
            api.fault(**given)
            result = True
        case "file":
            api.files[given["id"]] = base64.b64decode(given["content"])
            result = True
        case "chat":
            shown = api.chat(int(asked.query["id"]))
            result = [{**asdict(one), "file": one.file and one.file.name} for one in shown]
        case "state":
            result = state_of(api)
        case _:
            return Said(404, b'"no such control"')
    return Said(200, json.dumps(result).encode())


def state_of(api: BotApi) -> Json:
    return {
        "confirmed": api.confirmed,
        "pending": len(api.updates),
        "chats": sorted(api.chats.shown),
        "calls": Counter(call.method for call in api.calls),
        "commands": api.commands,
        "hook": api.hook,
        "answered": api.answered,
    }


def _refused(refusal: Refusal) -> Said:
    if not str(refusal):
        return Said(refusal.status, b"<html>bad gateway</html>", "text/html")
    told: Json = {"ok": False, "error_code": refusal.status, "description": str(refusal)}
    if refusal.parameters is not None:
        told["parameters"] = refusal.parameters
    return Said(refusal.status, json.dumps(told).encode())


async def _main() -> None:
    parser = argparse.ArgumentParser(description="A Bot API double.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", default=TOKEN)
    given = parser.parse_args()
    async with BotApi(token=given.token, port=given.port) as api:
        sys.stdout.write(f"{api.http.port}\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(_main())
