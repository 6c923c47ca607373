"""Programs that only read, as data: which they are, and which of their options do more than read.

What is not listed is no reader. An option counts as one of `never` when it is it, when it may be
read as an abbreviation of it (`--outp`), or when it contains it in a cluster (`-no` has `-o`).
"""

from typing import Literal

from msgspec import Struct


class ReadOnlyProgram(Struct, frozen=True, kw_only=True):
    """One program, or one subcommand of a program.

    `never`    options that write, run or set something;
    `takes`    options whose value is the next word;
    `fine`     words that are harmless although they look like one of `never`;
    `operands` how many words that are no options it may get; `format`: only `+…` ones;
    `leading`  options end at the first operand.
    """

    never: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    fine: tuple[str, ...] = ()
    operands: Literal["any", "none", "one", "format"] = "any"
    leading: bool = False

    @property
    def loose(self) -> bool:
        """Whatever stands there, it only reads: words that nobody can know yet are welcome."""
        return not self.never and self.operands == "any"


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# The words that hold commands together, and the nodes of the syntax tree that only do that.
SEPARATORS = frozenset(
    {"\n", *_words("; && || | |& ( ) { } ! $( ` <(")}
    | {*_words("if then elif else fi for in do done while until")}
)
STATEMENTS = frozenset(
    _words("""
    program list pipeline subshell compound_statement negated_command if_statement elif_clause
    else_clause do_group while_statement redirected_statement command_substitution
    process_substitution
""")
)

ANY = ReadOnlyProgram()
_LOOSE = _words("""
    : arch b2sum base32 base64 basename cal cat cksum cmp column comm cut df diff dirname du echo
    egrep expand expr false fgrep fmt fold free getconf grep groups head hexdump id jq join locale
    logname ls lsblk lscpu md5sum nl nproc numfmt od paste pathchk pgrep pidof printenv ps pwd
    readlink realpath rev seq sha1sum sha224sum sha256sum sha384sum sha512sum sleep stat strings
    sum tac tail tr true tsort tty type uname unexpand uptime users vmstat wc whereis which who
    whoami
""")

READERS: dict[str, ReadOnlyProgram] = dict.fromkeys(_LOOSE, ANY) | {
    "date": ReadOnlyProgram(
        never=("-s", "--set"),
        takes=("-d", "--date", "-r", "--reference", "-f", "--file"),
        fine=("-Is", "-Ins", "-Iseconds", "-Iminutes", "-Ihours"),
        operands="format",
    ),
    "env": ReadOnlyProgram(never=("-",), operands="none"),
    "file": ReadOnlyProgram(never=("-C", "--compile", "-m", "--magic-file")),
    "find": ReadOnlyProgram(
        never=_words("-delete -exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls")
    ),
    "hostname": ReadOnlyProgram(never=("-F", "--file", "-b", "--boot"), operands="none"),
    "printf": ReadOnlyProgram(never=("-v",), leading=True),
    "rg": ReadOnlyProgram(never=("--pre", "--hostname-bin")),
    "sort": ReadOnlyProgram(
        never=("-o", "--output", "--compress-program", "-T", "--temporary-directory")
    ),
    "tree": ReadOnlyProgram(never=("-o", "-R", "--output")),
    "uniq": ReadOnlyProgram(takes=("-f", "-s", "-w"), operands="one"),
    "xxd": ReadOnlyProgram(never=("-r", "-revert"), takes=("-c", "-g", "-l", "-s"), operands="one"),
}

# Programs that run code, or anything at all, unless they are only asked for their version.
_VERSIONED = _words("""
    aws bash bat black bun cargo clang cmake curl deno docker eslint fd g++ gcc gdb gh git go helm
    java javac kubectl ld less make mypy mysql ninja node npm npx nvim openssl perl php pip pip3
    pipx pnpm podman poetry prettier psql pytest python python3 R rg rsync ruby ruff rustc sh
    sqlite3 ssh tar terraform tmux tsc uv vim wget yarn yq zip zsh
""")
_MORE = """
    cargo:-V docker:-v docker:version ffmpeg:-version ffprobe:-version go:version helm:version
    java:-version javac:-version make:-v lsb_release:-a lsb_release:-d lsb_release:-c lsb_release:-r
    lsb_release:-i node:-v npm:-v openssl:version perl:-v php:-v pip:-V pip3:-V python:-V python3:-V
    ruby:-v rustc:-V ssh:-V terraform:version tmux:-V tsc:-v yarn:-v
"""
VERSIONS: dict[str, set[str]] = {name: {"--version"} for name in _VERSIONED}
for _name, _, _option in (pair.partition(":") for pair in _MORE.split()):
    VERSIONS.setdefault(_name, {"--version"}).add(_option)

PIP = dict.fromkeys(
    ("list", "freeze", "show", "check"),
    ReadOnlyProgram(never=("--log", "--python", "--cache-dir", "--proxy", "-i", "--index-url")),
)


# With these a shell gives up sooner, and reads nothing differently.
STRICT_SHELL = frozenset({"-e", "-u", "-eu", "-ue", "-o pipefail", "-eo pipefail", "-euo pipefail"})
PIP_FLAGS = frozenset(
    {"--format=json", "--format=columns", "--format=freeze", "--local", "-l", "--user", "--files"}
    | {"-f", "--not-required", "--verbose", "-v", "--outdated", "-o", "--all", "--no-color"}
)


class ReadOnlySubcommand(Struct, frozen=True, kw_only=True):
    """A subcommand of git.

    `needs`   its first argument must be one of these; `bare`: or there are no arguments;
    `listing` with operands, the first argument must be one of these: else they name what is made.
    """

    never: tuple[str, ...] = ("--output", "--ext-diff", "--textconv")
    needs: tuple[str, ...] = ()
    listing: tuple[str, ...] = ()
    bare: bool = False


_GIT_LOOKS = _words("""
    blame check-ignore cherry count-objects describe diff diff-index diff-tree for-each-ref log
    ls-files ls-tree merge-base name-rev range-diff rev-list rev-parse shortlog show show-ref status
    version whatchanged
""")
_BRANCH_WRITES = _words("""
    -d -D --delete -m -M --move -c -C --copy -f --force -u --set-upstream-to --unset-upstream
    --edit-description -t --track --create-reflog
""")
_BRANCH_LISTS = _words("--list --contains --no-contains --merged --no-merged --points-at")
_TAG_WRITES = _words("-a -s -d --delete -f --force -m -F -u -e --edit --create-reflog")
CONFIG_NAME = r"[A-Za-z][\w-]*\.[\w./:-]+"  # alone, it is asked for its value
_CONFIG_READS = _words("--get --get-all --get-regexp --list -l")

GIT: dict[str, ReadOnlySubcommand] = dict.fromkeys(_GIT_LOOKS, ReadOnlySubcommand()) | {
    "branch": ReadOnlySubcommand(never=_BRANCH_WRITES, listing=_BRANCH_LISTS),
    "cat-file": ReadOnlySubcommand(never=("--textconv", "--filters")),
    "commit": ReadOnlySubcommand(never=("--no-dry-run",), needs=("--dry-run",)),
    "config": ReadOnlySubcommand(never=("--unset", "--add", "--edit", "-e"), needs=_CONFIG_READS),
    "grep": ReadOnlySubcommand(never=("-O", "--open-files-in-pager", "--ext-grep", "--textconv")),
    "reflog": ReadOnlySubcommand(needs=("show", "-n", "--oneline", "--all"), bare=True),
    "remote": ReadOnlySubcommand(never=(), needs=("get-url",), bare=True),
    "stash": ReadOnlySubcommand(needs=("list", "show")),
    "tag": ReadOnlySubcommand(
        never=_TAG_WRITES, listing=("-l", "--list", "--contains", "--merged")
    ),
    "worktree": ReadOnlySubcommand(needs=("list",)),
}
GIT_FLAGS = frozenset({"--no-pager", "-P", "--no-optional-locks"})
GIT_SKIPPED = frozenset({"--global", "--local", "--system", "-v", "--verbose"})

# `test -v NAME` evaluates a subscript in NAME, and `[[ A -eq B ]]` evaluates A and B; these do not.
FILE_TESTS = frozenset(_words("-b -c -d -e -f -g -h -k -n -p -r -s -t -u -w -x -z -G -L -N -O -S"))
STRING_TESTS = frozenset(_words("= == != !"))
NUMBER_TESTS = frozenset(_words("-eq -ne -lt -le -gt -ge -a -o -nt -ot -ef"))
BRACKET_TESTS = {
    "[": FILE_TESTS | STRING_TESTS | NUMBER_TESTS | {"[", "]"},
    "[[": FILE_TESTS | STRING_TESTS | {"[[", "]]", "&&", "||", "(", ")"},
}

XARGS_FLAGS = frozenset({"-0", "--null", "-r", "--no-run-if-empty", "-t"})
SED_PRINTS = r"(?:\d+|\$)(?:,(?:\d+|\$))?p(?:;(?:\d+|\$)(?:,(?:\d+|\$))?p)*"
# The shell acts on many upper-case names (PATH, IFS, …): a loop may not set one of those.
LOOP_NAME = r"[a-z_][a-z0-9_]{0,30}"
