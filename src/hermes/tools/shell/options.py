"""Tell the options of a program from its operands, by its row in the table."""

import re
from collections.abc import Sequence

from hermes.tools.shell.programs import Kind, Program
from hermes.tools.shell.words import HOLE, Word

COUNT = re.compile(r"-\d{1,9}")


class ParsedOptions:
    """What a program was given, read word by word. `unknown`: options that are not in its table."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.operands: list[Word] = []
        self.options: set[str] = set()
        self.values: list[tuple[Kind, Word]] = []
        self.unknown: list[str] = []

    def read_long(self, word: Word, waiting: list[Word]) -> None:
        name, equals, value = word.shape.partition("=")
        self.options.add(name)
        if name in self.program.values:
            if equals:
                self.values.append((self.program.values[name], _same(word, value)))
            elif waiting:
                self.values.append((self.program.values[name], waiting.pop(0)))
        elif name not in self.program.optional and (equals or name not in self.program.flags):
            self.unknown.append(word.shape)

    def read_short(self, word: Word, waiting: list[Word]) -> None:
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


def parse_options(
    program: Program, words: Sequence[Word], *, counts: bool = False
) -> ParsedOptions:
    """Tell options from operands. `counts`: -20 is a number of lines."""
    given = ParsedOptions(program)
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        text = word.shape
        if text == "--" and word.text is not None:
            given.operands += waiting
            break
        if not text.startswith("-") or text == "-":
            given.operands.append(word)
        elif counts and COUNT.fullmatch(text):
            continue
        elif word.text is None and not (HOLE in text and text.partition("=")[0] in program.values):
            given.unknown.append(text)
        elif text.startswith("--"):
            given.read_long(word, waiting)
        else:
            given.read_short(word, waiting)
    return given


def _same(word: Word, text: str) -> Word:
    return Word(shape=text, glob=word.glob, quoted=word.quoted)
