"""The double itself: strict where Telegram is, and usable from another process."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.doubles.telegram import TOKEN
from tests.doubles.telegram_markdown import CannotParse, Entity, parse_markdown_v2

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    "text", ["a.b", "a-b", "(x)", "1 > 2", "*open", "`a", "[a](b", "x!", "a|b"]
)
def test_what_telegram_would_refuse_is_refused(text: str) -> None:
    with pytest.raises(CannotParse, match="can't parse entities"):
        parse_markdown_v2(text)


def test_what_telegram_would_read_is_read() -> None:
    text = "*b _i_* `c\\``\n```py\nx.y\n```\n>q1\n>q2\n[l\\.](http://a.b/c\\))"
    plain, entities = parse_markdown_v2(text)
    assert plain == "b i c`\nx.y\n\nq1\nq2\nl."
    assert entities == [
        Entity("italic", "i"),
        Entity("bold", "b i"),
        Entity("code", "c`"),
        Entity("pre", "x.y\n", "py"),
        Entity("blockquote", "q1\nq2"),
        Entity("text_link", "l.", "http://a.b/c)"),
    ]


def ask(url: str, body: object = None) -> object:
    request = Request(url, data=None if body is None else json.dumps(body).encode())  # noqa: S310
    request.add_header("Content-Type", "application/json")
    with urlopen(request, timeout=10) as answer:  # noqa: S310
        return json.load(answer)


def test_it_runs_as_a_process_and_is_controlled_from_outside() -> None:
    command = [sys.executable, "-m", "tests.doubles.telegram", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            drive(f"http://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.terminate()


def drive(url: str) -> None:
    ask(f"{url}/control/say", {"text": "hello", "chat": 7, "user": 7})
    bot = f"{url}/bot{TOKEN}"
    updates = ask(f"{bot}/getUpdates", {"timeout": 5})
    assert updates["result"][0]["message"]["text"] == "hello"  # type: ignore[index]
    ask(f"{bot}/sendMessage", {"chat_id": 7, "text": "hi"})
    ask(f"{bot}/getUpdates", {"offset": 2})
    ask(f"{url}/control/fault", {"method": "sendMessage", "kind": "error"})
    (shown,) = ask(f"{url}/control/chat?id=7")  # type: ignore[misc]
    assert shown["text"] == "hi"
    state = ask(f"{url}/control/state")
    assert isinstance(state, dict)
    assert (state["confirmed"], state["pending"]) == (2, 0)
    assert state["calls"] == {"getUpdates": 2, "sendMessage": 1}
