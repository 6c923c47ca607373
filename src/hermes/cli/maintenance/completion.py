"""hermes completion: generate a shell's completion script from the command table."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from hermes.cli.command import CliCommand, CommandEntry
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.registry import FAMILIES, WINDOW, commands

if TYPE_CHECKING:
    from argparse import ArgumentParser


FILES = ("PATH", "FILE")  # an argument of this name is one
SHELLS = ("bash", "zsh", "fish")


class CompletionOptions:
    shell: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


class Option(Struct, frozen=True, kw_only=True):
    """An option. `takes`: a value follows; it has choices, or is a file."""

    names: tuple[str, ...]
    summary: str
    takes: bool = False
    choices: tuple[str, ...] = ()
    file: bool = False


class Node(Struct, frozen=True, kw_only=True):
    """What can follow the words of `path`: words, options, or a file."""

    path: str
    words: tuple[tuple[str, str], ...] = ()  # a word and what it does
    options: tuple[Option, ...] = ()
    file: bool = False

    @property
    def offers(self) -> Sequence[str]:
        names = (name for option in self.options for name in option.names)
        return [*(word for word, _ in self.words), *names]


def run(options: CompletionOptions, context: CliContext) -> int:
    made = {"bash": bash, "zsh": zsh, "fish": fish}[options.shell]
    context.console.stdout.write(made(list(nodes())))
    return DONE


def nodes() -> Iterator[Node]:
    """Yield the first words, each family's words, and each command's options."""
    every = list(commands())
    first = [(name, _summary(name, every)) for name in FAMILIES]
    asks = (("help", "Show help for a command"),)
    version = Option(names=("--version",), summary="Print the version")
    window = _node("", WINDOW)
    yield Node(path="", words=(*first, *asks), options=(*window.options, version))
    for name, family in FAMILIES.items():
        if family.alone:
            words = tuple((each.words[1], each.summary) for each in family.entries)
            yield Node(path=name, words=words, options=(_HELP,))
    for command in every:
        yield _node(command.name, command)


_HELP = Option(names=("-h", "--help"), summary="Tell about it")


def _summary(name: str, every: Sequence[CommandEntry]) -> str:
    found = [command for command in every if command.words[0] == name]
    alone = FAMILIES[name].alone
    return next(each.summary for each in found if not alone or each.words[1] == alone)


def _node(path: str, command: CommandEntry) -> Node:
    options: list[Option] = []
    words: list[tuple[str, str]] = []
    file = False
    for action in command.parser()._actions:  # noqa: SLF001 (argparse tells it nowhere else)
        choices = tuple(map(str, action.choices or ()))
        named = str(action.metavar or action.dest).upper() in FILES
        if action.option_strings:
            options.append(
                Option(
                    names=tuple(action.option_strings),
                    summary=" ".join(str(action.help or "").split()),
                    takes=action.nargs != 0,
                    choices=choices,
                    file=named,
                )
            )
        else:
            words += [(choice, "") for choice in choices]
            file = file or named
    return Node(path=path, words=tuple(words), options=tuple(options), file=file)


def bash(known: Sequence[Node]) -> str:
    values = [line for node in known for line in _bash_values(node)]
    offers = [
        f"        {_q(node.path)}) offers={_q(' '.join(node.offers))}; files={int(node.file)} ;;"
        for node in known
    ]
    return "\n".join(
        (
            "# Completion of hermes for bash. Made by: hermes completion bash",
            "_hermes() {",
            '    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"',
            '    local where="" offers="" files=0 n IFS=$\'\\n\'',
            "    for ((n = 1; n < COMP_CWORD; n++)); do",
            '        case "$where ${COMP_WORDS[n]}" in',
            f'            {_paths(known)}) where="${{where:+$where }}${{COMP_WORDS[n]}}" ;;',
            "        esac",
            "    done",
            '    case "$where $prev" in',
            *values,
            "    esac",
            '    case "$where" in',
            *offers,
            "    esac",
            '    COMPREPLY=($(IFS=" "; compgen -W "$offers" -- "$cur"))',
            '    if ((files)) && [[ $cur != -* ]]; then COMPREPLY+=($(compgen -f -- "$cur")); fi',
            "}",
            "complete -o filenames -F _hermes hermes",
            "",
        )
    )


def _bash_values(node: Node) -> Iterator[str]:
    for option in node.options:
        case = "|".join(_q(f"{node.path} {name}") for name in option.names)
        if option.file:
            yield f'        {case}) COMPREPLY=($(compgen -f -- "$cur")); return ;;'
        elif option.choices:
            offers = _q(" ".join(option.choices))
            made = f'COMPREPLY=($(IFS=" "; compgen -W {offers} -- "$cur"))'
            yield f"        {case}) {made}; return ;;"
        elif option.takes:
            yield f"        {case}) COMPREPLY=(); return ;;"


def zsh(known: Sequence[Node]) -> str:
    cases = [line for node in known for line in _zsh_case(node)]
    values = [line for node in known for line in _zsh_values(node)]
    return "\n".join(
        (
            "#compdef hermes",
            "# Completion of hermes for zsh. Made by: hermes completion zsh",
            "_hermes() {",
            '    local where="" word',
            "    local -a offers",
            "    for word in ${words[2,CURRENT-1]}; do",
            '        case "$where $word" in',
            f'            {_paths(known)}) where="${{where:+$where }}$word" ;;',
            "        esac",
            "    done",
            '    case "$where ${words[CURRENT-1]}" in',
            *values,
            "    esac",
            '    case "$where" in',
            *cases,
            "    esac",
            "}",
            'if [[ "${funcstack[1]}" == _hermes ]]; then _hermes "$@"; '
            "else compdef _hermes hermes; fi",
            "",
        )
    )


def _zsh_values(node: Node) -> Iterator[str]:
    for option in node.options:
        case = "|".join(_q(f"{node.path} {name}") for name in option.names)
        if option.file:
            yield f"        {case}) _files; return ;;"
        elif option.choices:
            yield f"        {case}) compadd -- {' '.join(map(_q, option.choices))}; return ;;"
        elif option.takes:
            yield f"        {case}) return ;;"


def _zsh_case(node: Node) -> Iterator[str]:
    words = [(word, about) for word, about in node.words]
    words += [(name, option.summary) for option in node.options for name in option.names]
    offers = " ".join(_q(f"{word}:{about}".rstrip(":")) for word, about in words)
    files = " _files;" if node.file else ""
    yield f"        {_q(node.path)}) offers=({offers});{files} _describe hermes offers ;;"


def fish(known: Sequence[Node]) -> str:
    lines = [line for node in known for line in _fish_lines(node)]
    return "\n".join(
        (
            "# Completion of hermes for fish. Made by: hermes completion fish",
            "function __hermes_where",
            '    set -l where ""',
            "    for word in (commandline -opc)[2..-1]",
            '        switch "$where $word"',
            f"            case {_paths(known, ' ')}",
            '                set where (string trim -- "$where $word")',
            "        end",
            "    end",
            "    echo $where",
            "end",
            "function __hermes_at",
            '    test (__hermes_where) = "$argv[1]"',
            "end",
            "complete -c hermes -f",
            *lines,
            "",
        )
    )


def _fish_lines(node: Node) -> Iterator[str]:
    head = f"complete -c hermes -n {_q(f'__hermes_at {_q(node.path)}', fish=True)}"
    for word, about in node.words:
        yield f"{head} -a {_q(word)}" + (f" -d {_q(about, fish=True)}" if about else "")
    if node.file:
        yield f"{head} -F"
    for option in node.options:
        names = " ".join(
            f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names
        )
        value = ""
        if option.file:
            value = " -r -F"
        elif option.choices:
            value = f" -x -a {_q(' '.join(option.choices), fish=True)}"
        elif option.takes:
            value = " -x"
        yield f"{head} {names}{value} -d {_q(option.summary, fish=True)}"


def _paths(known: Sequence[Node], between: str = "|") -> str:
    """Return each path as the shell sees it: the words before, a space, and the next word."""
    every = [node.path.rpartition(" ") for node in known if node.path]
    return between.join(_q(f"{before} {word}") for before, _, word in dict.fromkeys(every))


def _q(text: str, *, fish: bool = False) -> str:
    """Quote a text for the shell with single quotes; fish has its own rules."""
    if fish:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "'" + text.replace("'", "'\\''") + "'"


COMMAND = CliCommand(
    options=CompletionOptions,
    run=run,
    arguments=_arguments,
    more="""to use it:
  bash   hermes completion bash > ~/.local/share/bash-completion/completions/hermes
  zsh    hermes completion zsh > ~/.zfunc/_hermes    (a folder of your $fpath)
  fish   hermes completion fish > ~/.config/fish/completions/hermes.fish""",
)
