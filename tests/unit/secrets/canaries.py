"""Fake secrets of the kinds that people have, and the texts in which one turns up."""

import json
import random
import string
import traceback
from base64 import b64encode
from collections.abc import Callable, Mapping
from urllib.parse import quote

_LETTERS = string.ascii_letters + string.digits


def _made(alphabet: str, count: int, seed: int) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=count))


def _word(count: int, seed: int) -> str:
    return _made(_LETTERS, count, seed)


def _hex(count: int, seed: int) -> str:
    return _made("0123456789abcdef", count, seed)


CANARIES: Mapping[str, str] = {
    "OPENAI_API_KEY": "sk-" + "proj-" + _word(48, 1),
    "ANTHROPIC_API_KEY": "sk-" + "ant-api03-" + _word(80, 2),
    "OPENROUTER_API_KEY": "sk-" + "or-v1-" + _hex(64, 3),
    "GROQ_API_KEY": "gsk" + "_" + _word(52, 4),
    "GEMINI_API_KEY": "AI" + "za" + _word(35, 5),
    "HF_TOKEN": "hf" + "_" + _word(34, 6),
    "GITHUB_TOKEN": "gh" + "p_" + _word(36, 7),
    "GITHUB_FINE_TOKEN": "github" + "_pat_" + _word(60, 8),
    "GITLAB_TOKEN": "gl" + "pat-" + _word(20, 9),
    "SLACK_BOT_TOKEN": "xo" + "xb-" + _made(string.digits, 12, 10) + "-" + _word(24, 11),
    "SLACK_APP_TOKEN": "xa" + "pp-1-" + _word(40, 12),
    "TELEGRAM_BOT_TOKEN": _made(string.digits, 10, 13) + ":" + _word(35, 14),
    "DISCORD_TOKEN": f"M{_word(25, 15)}.{_word(6, 16)}.{_word(38, 17)}",
    "TWILIO_AUTH_TOKEN": _hex(32, 18),
    "MATRIX_ACCESS_TOKEN": f"syt_{_word(8, 19)}_{_word(20, 20)}_{_word(6, 21)}",
    "AWS_ACCESS_KEY_ID": "AK" + "IA" + _made(string.ascii_uppercase + string.digits, 16, 22),
    "AWS_SECRET_ACCESS_KEY": _made(_LETTERS + "+/", 40, 23),
    "STRIPE_SECRET_KEY": "sk" + "_live_" + _word(24, 24),
    "SENDGRID_API_KEY": f"SG.{_word(22, 25)}.{_word(43, 26)}",
    "NPM_TOKEN": "np" + "m_" + _word(36, 27),
    "JWT_TOKEN": f"eyJ{_word(33, 28)}.eyJ{_word(60, 29)}.{_word(43, 30)}",
    "HEROKU_API_KEY": "-".join(_hex(n, 31 + n) for n in (8, 4, 4, 4, 12)),
    "WEBHOOK_SECRET": _hex(40, 32),
    "DB_PASSWORD": 'p@ss "w0rd" / & 100%',
    "MAIL_PASSWORD": "Gr\u00fc\u00dfe\u2713-aus-K\u00f6ln",
    "ADMIN_PASS": "tr0ub4dor&3",
    "SIGNING_SEED": _made(_LETTERS + "-_", 43, 33),
    "LONG_TOKEN": _word(400, 34),
    "MULTILINE_KEY": "\n".join(_word(64, 40 + n) for n in range(4)),
}


def _traceback(secret: str) -> str:
    try:
        raise ValueError(f"cannot use {secret!r}")  # noqa: TRY301
    except ValueError as error:
        return "".join(traceback.TracebackException.from_exception(error).format())


PLACEMENTS: Mapping[str, Callable[[str, str], str]] = {
    "env": lambda name, secret: f"{name}={secret}\nPATH=/usr/bin\n",
    "json": lambda name, secret: json.dumps({"a": 1, name: secret, "b": [2]}),
    "header": lambda _name, secret: f"Authorization: Bearer {secret}\r\nHost: x",
    "prose": lambda _name, secret: f"the value is {secret}, do not tell anybody",
    "curl": lambda _name, secret: f"curl -H 'X-Key: {secret}' https://a.test/",
    "traceback": lambda _name, secret: _traceback(secret),
    "base64": lambda name, secret: b64encode(f"user:{name}:{secret}!".encode()).decode(),
    "split": lambda _name, secret: f"first half and second half: {secret}",
    "url": lambda _name, secret: f"https://a.test/?key={quote(secret, safe='')}&x=1",
}
