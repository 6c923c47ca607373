"""Ask a person: a default in brackets, a reason when an answer is wrong, a limit of attempts."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hermes.core.errors import Rejected

A = TypeVar("A")
ATTEMPTS_MAX = 5
PEOPLE_MAX = 1_000
ROUNDS_MAX, SHOWN_MAX = 50, 24
_YES, _NO = ("y", "yes"), ("n", "no")


@dataclass(frozen=True)
class Questions:
    """Questions at a terminal. `ask` shows a text and returns what was typed; `ask_hidden` hides
    the input. With `silent` everything takes its default."""

    ask: Callable[[str], str]
    ask_hidden: Callable[[str], str]
    tell: Callable[[str], None]
    silent: bool = False

    def agreed(self, question: str, *, default: bool) -> bool:
        def parse(text: str) -> bool:
            if text.lower() in ("", *_YES, *_NO):
                return text.lower() in _YES or (not text and default)
            raise ValueError("answer y or n")

        return self._until(f"{question} [{'Y/n' if default else 'y/N'}] ", self.ask, parse)

    def number(
        self, question: str, *, default: int, most: int, refuse: Callable[[int], str]
    ) -> int:
        def parse(text: str) -> int:
            word = text or str(default)
            if not (word.isascii() and word.isdecimal() and 0 < int(word[:9]) <= most):
                raise ValueError(f"enter a number from 1 to {most}")
            if reason := refuse(int(word)):
                raise ValueError(reason)
            return int(word)

        return self._until(f"{question} [{default}] ", self.ask, parse)

    def numbers(self, question: str) -> list[int]:
        """Ask for numbers; empty when nothing is typed."""

        def parse(text: str) -> list[int]:
            words = re.split(r"[\s,;]+", text) if text else []
            if len(words) > PEOPLE_MAX or not all(re.fullmatch(r"[1-9]\d{0,18}", w) for w in words):
                raise ValueError("write numbers such as 12345678, with commas between them")
            return [int(word) for word in words]

        return self._until(f"{question}: ", self.ask, parse)

    def hidden(self, question: str, *, refuse: Callable[[str], str]) -> str:
        def parse(text: str) -> str:
            if reason := refuse(text):
                raise ValueError(reason)
            return text

        return self._until(f"{question}: ", self.ask_hidden, parse)

    def text(self, question: str, *, default: str, refuse: Callable[[str], str]) -> str:
        def parse(text: str) -> str:
            if reason := refuse(text or default):
                raise ValueError(reason)
            return text or default

        return self._until(f"{question}{f' [{default}]' if default else ''}: ", self.ask, parse)

    def pick(
        self,
        question: str,
        options: Sequence[str],
        *,
        default: str = "",
        told: Callable[[str], str] = str,
        free: bool = False,
    ) -> str:
        """Ask for one of many: by its number, its name, or words that shorten the list. `free`: a
        name outside of the list is accepted as well."""
        left = list(options)
        for _round in range(ROUNDS_MAX):
            for n, option in enumerate(left[:SHOWN_MAX], start=1):
                self.tell(f"{n:>4}  {told(option)}")
            if len(left) > SHOWN_MAX:
                self.tell(f"      … and {len(left) - SHOWN_MAX} more; type a part of the name")
            typed = self.ask(f"{question}{f' [{default}]' if default else ''}: ")
            word = _meant(typed.strip() or default, left)
            near = [each for each in options if word and word.lower() in each.lower()]
            if word in options:
                return word
            if len(near) == 1:
                return near[0]
            if word and free and not near:
                return word
            self.tell(f"{len(near)} of {len(options)} match" if near else "no entry matches")
            left = near or list(options)
        raise Rejected("no answer could be used. Nothing was changed")

    def _until(self, prompt: str, ask: Callable[[str], str], parse: Callable[[str], A]) -> A:
        for _attempt in range(ATTEMPTS_MAX):
            try:
                return parse(ask(prompt).strip())
            except ValueError as unfit:
                self.tell(str(unfit))
        raise Rejected("no answer could be used. Settings made so far are kept")


def _meant(word: str, shown: Sequence[str]) -> str:
    """Return the option that was meant. A number is the place in the displayed list."""
    if word.isascii() and word.isdecimal() and 0 < int(word[:9]) <= min(len(shown), SHOWN_MAX):
        return shown[int(word) - 1]
    return word
