"""Options of a program, told from its operands by what is known of it."""

import re
from collections.abc import Sequence

from msgspec import Struct

from hermes.tools.shell_programs import Kind, Program
from hermes.tools.shell_words import HOLE, Word

COUNT = re.compile(r"-\d{1,9}")


class Given(Struct, frozen=True):
    """What a program was given. `unknown`: options that nobody has vouched for."""

    operands: tuple[Word, ...]
    options: frozenset[str]
    values: tuple[tuple[Kind, Word], ...]
    unknown: tuple[str, ...]


def given_to(program: Program, words: Sequence[Word], *, counts: bool = False) -> Given:
    """`counts`: -20 is a number of lines."""
    reading = _Reading(program)
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        text = word.shape
        if text == "--" and word.text is not None:
            reading.operands += waiting
            break
        if not text.startswith("-") or text == "-":
            reading.operands.append(word)
        elif counts and COUNT.fullmatch(text):
            continue
        elif word.text is None and not (HOLE in text and text.partition("=")[0] in program.values):
            reading.unknown.append(text)
        elif text.startswith("--"):
            reading.long(word, waiting)
        else:
            reading.short(word, waiting)
    return Given(
        tuple(reading.operands),
        frozenset(reading.options),
        tuple(reading.values),
        tuple(reading.unknown),
    )


class _Reading:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.operands: list[Word] = []
        self.options: set[str] = set()
        self.values: list[tuple[Kind, Word]] = []
        self.unknown: list[str] = []

    def long(self, word: Word, waiting: list[Word]) -> None:
        name, equals, value = word.shape.partition("=")
        self.options.add(name)
        if name in self.program.values:
            if equals:
                self.values.append((self.program.values[name], _same(word, value)))
            elif waiting:
                self.values.append((self.program.values[name], waiting.pop(0)))
        elif name not in self.program.optional and (equals or name not in self.program.flags):
            self.unknown.append(word.shape)

    def short(self, word: Word, waiting: list[Word]) -> None:
        letters = word.shape[1:]
        for n, letter in enumerate(letters):
            option = f"-{letter}"
            self.options.add(option)
            if option in self.program.values:
                rest = letters[n + 1 :]
                if rest:
                    self.values.append((self.program.values[option], _same(word, rest)))
                elif waiting:
                    self.values.append((self.program.values[option], waiting.pop(0)))
                return
            if option in self.program.optional:
                return
            if option not in self.program.flags:
                self.unknown.append(word.shape)
                return


def _same(word: Word, text: str) -> Word:
    return Word(shape=text, glob=word.glob, quoted=word.quoted)
