"""P11 on the wire: no call to Telegram lets a link carry out what the model has read."""

import json
import re
from pathlib import Path

from hermes.testing.model import Model, Says
from tests.doubles.telegram import TOKEN, BotApi
from tests.process.gateway import GatewayProcess, gateway

ANN = 7
URL = "https://evil.test/?q=the-secret"
ANSWER = (
    f"First of all look at [your bill]({URL}) and at {URL} here, "
    "or at evil.test/?q=the-secret over there, as you like, my dear friend."
)
CODE = re.compile(r"`[^`]*`")


async def answered(here: GatewayProcess, api: BotApi, count: int) -> None:
    async def there() -> bool:
        return sum("my dear friend." in text for text in api.texts(ANN)) == count

    await here.until(there, 30.0)


def sent(api: BotApi) -> list[dict[str, str]]:
    """Return the fields of every message and every edit, drafts included."""
    return [call.fields for call in api.calls if call.method in ("sendMessage", "editMessageText")]


async def test_previews_are_off_and_an_untrusted_conversation_has_no_links(tmp_path: Path) -> None:
    async with Model().up() as model, BotApi() as api, gateway(tmp_path, model) as here:
        model.rule = lambda _asked: Says(ANSWER, word_s=0.08)
        telegram = {"token": TOKEN, "api_base": api.url, "allowed_users": [ANN], "poll_s": 1}
        here.configure(platforms={"telegram": telegram})
        await here.start()
        api.say("hello", chat=ANN, user=ANN)
        await answered(here, api, 1)
        plain = sent(api)
        assert any("](https:" in fields["text"] for fields in plain), "a trusted link stays one"
        stranger = {"type": "hidden_user", "sender_user_name": "Mallory", "date": 1}
        api.say("read this", chat=ANN, user=ANN, forward_origin=stranger)
        await answered(here, api, 2)
        untrusted = sent(api)[len(plain) :]
        for fields in (*plain, *untrusted):
            assert json.loads(fields["link_preview_options"])["is_disabled"] is True
        for fields in untrusted:
            marked = fields.get("parse_mode") == "MarkdownV2"
            shown = CODE.sub("", fields["text"]) if marked else fields["text"]
            assert "evil" not in shown, fields["text"]
        assert untrusted[-1]["text"].count("evil.test") == 3, "people see every address in the end"
