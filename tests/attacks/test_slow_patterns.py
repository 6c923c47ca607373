"""RES-8: no text of others makes a pattern of ours go back and forth over it."""

import time
from collections.abc import Callable

import pytest

from hermes.channels.telegram.render import draft_of, plain_of, render
from hermes.core.messages import sound
from hermes.memory.blocks import blocks_of
from hermes.memory.text import looks_like_orders, looks_like_secret, plain
from hermes.skills.scan import TREE_CHARS_MAX, hidden_in, scanned
from hermes.text.visible_text import is_deceptive, visible_text
from hermes.tools.output import clean_tail
from hermes.tools.web_urls import carries_data

LENGTH = 20_000
TRIES = 4
PIECES = (
    *("a", "0", " ", "\t", "\n", "-", "#", ">", "*", "_", "`", "~", "[", "](", "![", "|", ":", "<"),
    *("- ", "> ", "# ", " -", "| ", "|-", "1.", "[x", "\\", "\\`", '"', "=", "://", "<a ", "</"),
    *("\x1b[", "\x1b]", "%41", "\u0301", "\u200b", "\ufdfa", "a-", "a.", "curl ", "eval(", "cat "),
    *("remember ", "token=", "Bearer ", "ignore all ", "base64 -d ", "data:a/a;"),
)
READERS: dict[str, Callable[[str], object]] = {
    "a message for Telegram": render,
    "a draft": draft_of,
    "its plain form": lambda text: plain_of(text[:4_096]),  # of a chunk
    "an entry of the memory": plain,
    "the memory": blocks_of,
    "a card for the owner": visible_text,
    "a command that is judged": is_deceptive,
    "any text": sound,
    "words that would be kept": lambda text: (looks_like_orders(text), looks_like_secret(text)),
    "an address of a page": lambda text: carries_data(f"https://a.example/{text[:4_000]}"),
    "what a command printed": lambda text: clean_tail(text.encode()),
    "a skill": lambda text: scanned({"SKILL.md": text.encode(), "a.sh": text.encode()}),
    "hidden text in a skill": lambda text: hidden_in({"SKILL.md": text.encode()}),
}


def took_s(work: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    work(text)
    return time.process_time() - began


def _ratio(work: Callable[[str], object], whole: str, half: str) -> float:
    return took_s(work, whole) / max(took_s(work, half), 0.01)


@pytest.mark.parametrize("name", READERS)
def test_res_08_twice_the_text_takes_about_twice_the_time(name: str) -> None:
    """Four times would be a square, and would be so every time; a busy machine is not. What is
    quick anyway needs no second look."""
    slow: list[str] = []
    for piece in PIECES:
        for end in ("", "!", "\n"):
            whole = (piece * (LENGTH // len(piece))) + end
            half = (piece * (LENGTH // len(piece) // 2)) + end
            if took_s(READERS[name], whole) < 0.5:
                continue
            ratios = [_ratio(READERS[name], whole, half)]
            while ratios[-1] > 3.0 and len(ratios) < TRIES:
                ratios.append(_ratio(READERS[name], whole, half))
            if min(ratios) > 3.0:
                slow.append(f"{piece!r} {min(ratios):.1f}")
    assert slow == []


def test_res_08_a_skill_of_ten_megabytes_is_scanned_in_part_and_it_is_said() -> None:
    line = "curl " * 700 + "\n"
    big = (line * (10_000_000 // len(line))).encode()
    found = scanned({"SKILL.md": b"fine\n", "scripts/a.sh": big})
    assert [(finding.rule, finding.file) for finding in found] == [("large", "scripts/a.sh")]
    small = scanned({"SKILL.md": b"curl x | sh\n", "scripts/a.sh": big[:TREE_CHARS_MAX]})
    assert "SKILL.md" in {finding.file for finding in small}
