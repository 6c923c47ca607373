"""Programs that may run without a question, as data: their options and what their words mean.

A line is a name, what its operands are, and every option that is known to be harmless. What is not
written here is asked about; there are no abbreviations. `-abc` are flags, `-n=data` and
`--lines=data` take a value of that kind, `--color?` may have one.
"""

import re
from typing import Literal, get_args

from msgspec import Struct

# data: just text; names: a path whose name, size or existence is told; read, write: a path.
Kind = Literal["data", "names", "read", "write"]


class Program(Struct, frozen=True, kw_only=True):
    operands: Kind
    leading: int = 0  # so many operands are data before the others
    operands_max: int = 1_000
    loose: bool = False  # a word that becomes an option does no harm
    flags: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    values: dict[str, Kind] = {}


def _read_line(line: str) -> tuple[list[str], Program]:
    names, meaning, *options = line.split()
    leading = 1 if meaning.startswith("data,") else 0
    kind, _, limit = meaning.removeprefix("data,").rstrip("~").partition("/")
    flags, optional, values = set[str](), set[str](), dict[str, Kind]()
    for option in options:
        name, equals, value = option.partition("=")
        if equals:
            values[name] = _kind(value)
        elif option.endswith("?"):
            optional.add(option[:-1])
        elif option.startswith("--"):
            flags.add(option)
        else:
            flags |= {f"-{letter}" for letter in option[1:]}
    return names.split(","), Program(
        operands=_kind(kind),
        leading=leading,
        operands_max=int(limit or 1_000),
        loose=meaning.endswith("~"),
        flags=frozenset(flags),
        optional=frozenset(optional),
        values=values,
    )


def _read_table(table: str) -> dict[str, Program]:
    lines = re.split(r"\n    (?=\S)", f"\n{table}".strip("\n "))
    return {name: program for names, program in map(_read_line, lines) for name in names}


def _words(text: str) -> list[str]:
    return text.split()


def _kind(text: str) -> Kind:
    for kind in get_args(Kind):
        if kind == text:
            return text  # type: ignore[return-value]
    raise ValueError(text)


_SUMS = "md5sum,sha1sum,sha224sum,sha256sum,sha384sum,sha512sum,b2sum,cksum,sum"
_TABLE = f"""
    ls names~ -1aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ -I=data -w=data -T=data --all --almost-all
        --author --classify? --color? --directory --full-time --group-directories-first
        --human-readable --inode --no-group --numeric-uid-gid --recursive --reverse --si --size
        --sort=data --time=data --time-style=data --width=data --format=data --ignore=data
        --hide=data --dereference --zero
    cat read~ -AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-tabs
        --show-nonprinting --squeeze-blank
    head read~ -qvz -n=data -c=data --lines=data --bytes=data --quiet --silent --verbose
    tail read~ -qvz -n=data -c=data --lines=data --bytes=data --quiet --silent --verbose
    wc read~ -clmLw --bytes --chars --lines --words --max-line-length
    grep,egrep,fgrep data,read~ -EFGPabcHhiIlLnoqrRsTvwxyzZ -e=data -A=data -B=data -C=data
        -m=data -f=read --after-context=data --before-context=data --context=data
        --binary-files=data --color? --colour? --count --exclude=data --exclude-dir=data
        --include=data --extended-regexp --files-with-matches --files-without-match
        --fixed-strings --ignore-case --invert-match --line-number --line-regexp --max-count=data
        --no-filename --no-messages --null --only-matching --perl-regexp --quiet --silent
        --recursive --dereference-recursive --regexp=data --file=read --text --with-filename
        --word-regexp --initial-tab
    rg data,read -0abcFHiIlLnNoPpqsSuUvwx -e=data -g=data -t=data -T=data -A=data -B=data -C=data
        -m=data -M=data -j=data -d=data -f=read -r=data --after-context=data --before-context=data
        --context=data --case-sensitive --color=data --column --count --count-matches --files
        --files-with-matches --files-without-match --fixed-strings --glob=data --iglob=data
        --heading --no-heading --hidden --ignore-case --invert-match --json --line-number
        --no-line-number --line-regexp --max-count=data --max-depth=data --multiline --no-ignore
        --no-filename --with-filename --only-matching --pcre2 --pretty --quiet --regexp=data
        --replace=data --smart-case --sort=data --sortr=data --stats --text --trim --type=data
        --type-not=data --type-list --unrestricted --vimgrep --word-regexp
    sort read -bcCdfghiMnmrRsuVz -k=data -t=data --key=data --field-separator=data --check?
        --dictionary-order --general-numeric-sort --human-numeric-sort --ignore-case
        --ignore-leading-blanks --merge --month-sort --numeric-sort --random-sort --reverse
        --stable --unique --version-sort --zero-terminated
    uniq read/1 -cdDiuz -f=data -s=data -w=data --all-repeated? --count --ignore-case --repeated
        --skip-chars=data --skip-fields=data --check-chars=data --unique --zero-terminated
    cut read~ -nsz -b=data -c=data -d=data -f=data --bytes=data --characters=data --complement
        --delimiter=data --fields=data --only-delimited --output-delimiter=data --zero-terminated
    tr data~ -cCdst --complement --delete --squeeze-repeats --truncate-set1
    paste read~ -sz -d=data --delimiters=data --serial --zero-terminated
    join read -iz -1=data -2=data -a=data -e=data -j=data -o=data -t=data -v=data --ignore-case
        --check-order --nocheck-order --header
    comm read~ -123z --check-order --nocheck-order --output-delimiter=data --total
        --zero-terminated
    diff read -abBcdeEiNpqrstTuwyZ -C=data -U=data -W=data -I=data -x=data --brief --color?
        --context? --exclude=data --expand-tabs --ignore-all-space --ignore-blank-lines
        --ignore-case --ignore-space-change --label=data --new-file --normal --recursive
        --report-identical-files --show-c-function --side-by-side --strip-trailing-cr
        --suppress-common-lines --text --unified? --width=data
    cmp read/2 -bls -n=data -i=data --print-bytes --quiet --silent --verbose --bytes=data
        --ignore-initial=data
    {_SUMS} read~ -bctz --binary --check --ignore-missing --quiet --status --strict --text --tag
        --zero
    stat names~ -fLt -c=data --dereference --file-system --format=data --printf=data --terse
    file read -bihLNprsv0 -F=data --brief --mime --mime-type --mime-encoding --dereference
        --no-dereference --raw
    du names~ -0abchHDklLmPsSx -d=data -t=data -B=data --all --apparent-size --bytes
        --block-size=data --exclude=data --human-readable --max-depth=data --one-file-system --si
        --summarize --threshold=data --time? --total
    df names~ -ahHiklPT -t=data -x=data -B=data --all --human-readable --inodes --local --output?
        --portability --print-type --total --type=data --exclude-type=data
    pwd data/0 -LP
    whoami,logname,arch,users data/0
    tty data/0 -s
    who data/0 -abdHlmpqrstTuw
    w data/0 -fhiosu
    last,lastlog data/0 -aFiRwx -n=data
    mount data/0 -l
    ifconfig data/0 -as
    ss data/0 -046aeHilmnoOprstuwxZ --all --listening --numeric --processes --tcp --udp --unix
    netstat data/0 -46aeglnoprstuvwW --all --listening --numeric --programs --tcp --udp
    top data/0 -bcHiSs -n=data -d=data -o=data -p=data -u=data -w=data
    bc read -ilqsw --mathlib --quiet
    id data~ -aGgnruzZ --group --groups --name --real --user
    groups data~
    uptime data/0 -ps --pretty --since
    hostname data/0 -sfiIdAa --short --fqdn --long --ip-address --all-ip-addresses --domain
    uname data/0 -asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version
        --machine --processor --hardware-platform --operating-system
    nproc data/0 --all --ignore=data
    lscpu data/0 -aebcpJxy --all --extended? --json --parse?
    lsblk names -abdDfilJmnoOpPrStTx -o=data --all --bytes --fs --json --list --nodeps
        --output=data --paths --pairs --topology
    free data/0 -bkmghtwlv --bytes --kilo --mega --giga --human --total --wide --lohi
    vmstat data -aDdfmnsSw
    cal,ncal data~ -13jmyhwMS
    locale data~ -amck
    getconf data~ -a
    date data -uRj -I? -d=data -r=names -f=read --date=data --debug --file=read --iso-8601?
        --reference=names --rfc-3339=data --rfc-email --universal --utc
    basename data~ -az -s=data --multiple --suffix=data --zero
    dirname data~ -z --zero
    realpath names~ -eEmLPqsz --canonicalize-existing --canonicalize-missing --logical --physical
        --quiet --no-symlinks --strip --zero --relative-to=names --relative-base=names
    readlink names~ -femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing
        --no-newline --quiet --silent --verbose --zero
    true,false,: data~
    sleep data~
    seq data~ -w -f=data -s=data --equal-width --format=data --separator=data
    expr,factor data~
    type data~ -aftpP
    which data~ -a --all
    whereis data~ -bmsu
    ps data -aAdefFjlLHNTwyM -o=data -p=data -u=data -U=data -C=data -g=data -t=data --forest
        --format=data --headers --no-headers --pid=data --ppid=data --sort=data --user=data
    pgrep data -acfilnoxv -u=data -U=data -P=data -d=data --count --full --list-name --list-full
        --exact --newest --oldest --ignore-case
    pidof data -s
    tree names -adDfFghiIlLnNpqQrsStuxACJUvc -L=data -P=data -I=data --charset=data --dirsfirst
        --du --filelimit=data --gitignore --noreport --prune --sort=data --si --metafirst
        --matchdirs
    nl read~ -b=data -d=data -f=data -h=data -i=data -n=data -s=data -v=data -w=data -p
    fold read~ -bs -w=data --bytes --spaces --width=data
    fmt read~ -cstu -w=data --width=data
    expand,unexpand read~ -ai -t=data --initial --all --tabs=data
    tac read~ -br -s=data --before --regex --separator=data
    rev read~
    column read~ -eLntxJ -s=data -o=data -c=data -N=data -R=data -H=data --table --separator=data
        --output-separator=data --json --table-columns=data --table-right=data
    od read~ -abcdDefFhHiIlLoOsvxXB -A=data -t=data -N=data -j=data -S=data -w=data
        --address-radix=data --format=data --read-bytes=data --skip-bytes=data --width?
        --output-duplicates
    hexdump,hd read~ -bcCdovx -n=data -s=data -e=data --canonical --length=data --skip=data
    xxd read/1 -abeEipudC -c=data -g=data -l=data -n=data -o=data -s=data
    strings read~ -afow -n=data -t=data -e=data --all --bytes=data --print-file-name --radix=data
        --encoding=data
    base64,base32 read/1 -di -w=data --decode --ignore-garbage --wrap=data
    printenv data~ -0 --null
    env data/0 -0 --null
    test data~
    zcat,bzcat,xzcat read -q
    zgrep,zegrep,zfgrep data,read -cEFhHilnoqsvwx -e=data -A=data -B=data -C=data -m=data
    less,more read -NSRFXinMEeQ
    help data -dms
    dpkg data -lsLSV --list --status --listfiles --search
    dpkg-query data -lsLSW -f=data --list --status --listfiles --search --show --showformat=data
    exit data/1
    tput data~
    clear,history,jobs,alias,umask,dirs,times,nvidia-smi,sw_vers data/0
    ulimit data/0 -a
    hostnamectl,timedatectl data/0 --no-pager
    lsof data -nPtUlRb -i? -p=data -u=data -c=data -a
    journalctl data -aerxkqb -u=data -n=data -p=data -t=data -o=data -S=data -U=data --unit=data
        --no-pager --since=data --until=data --lines=data --priority=data --output=data --reverse
        --no-hostname --boot? --dmesg --user --list-boots --disk-usage --quiet
    pstree data~ -aAcghlnprstTuUZ
    arch,lsmod,lspci,lsusb data/0 -vknt
    numfmt data --to=data --from=data --field=data --suffix=data -d=data
    tsort,shuf read -n=data -z
    look data,read -df
    dmesg data/0 -HTtxk --human --kernel --ctime
    iostat,mpstat data~ -cdhkmtxyz
    ruff,black,mypy data/0 -V
    zipinfo read/1 -12hlmstvzMTZ
    mkdir write -pv -m=data --parents --verbose
    touch write -acm -d=data -t=data -r=names --no-create --date=data --time=data
    tee write -ai --append
"""
# A program and its first words. None of these changes anything, runs code of the project or needs
# more than what a read-only sandbox shows.
_SUBCOMMANDS = """
    npm:ls,npm:list,npm:ll,npm:la data -agl --all --depth=data --json --long --global --omit=data
        --prod --production --dev --only=data --parseable --link --include=data
    npm:outdated data -agl --all --json --long --global
    npm:root,npm:prefix,npm:bin data/0 -g --global
    go:env,go:version data --json
    docker:ps data/0 -aqlns --all --quiet --latest --no-trunc --size --format=data --filter=data
        -f=data -n=data --last=data
    docker:images data/1 -aq --all --quiet --digests --no-trunc --format=data --filter=data -f=data
    docker:version,docker:info data/0 --format=data -f=data
    kubectl:version data/0 --client --short --output=data -o=data
    ip:addr,ip:a,ip:address,ip:link,ip:l,ip:route,ip:r,ip:neigh,ip:n data/0
    ip:addr:show,ip:a:show,ip:link:show,ip:route:show,ip:addr:list,ip:neigh:show data
    rpm:-q,rpm:-qa,rpm:-qi,rpm:-ql,rpm:-qf data
    gzip:-l read/4 -v
    conda:list,conda:info data/1 --json -e --envs
    conda:env:list,uv:pip:list,uv:pip:freeze,uv:python:list data/0
    hostnamectl:status,timedatectl:status data/0
    dotnet:--info,dotnet:--list-sdks,dotnet:--list-runtimes data/0
    systemctl:status,systemctl:is-active,systemctl:is-enabled,systemctl:is-failed data -laqn
        --no-pager --full --lines=data -n=data --user --all --plain --quiet
    systemctl:list-units,systemctl:list-timers,systemctl:list-unit-files data -alq --no-pager --all
        --type=data -t=data --state=data --failed --full --user --plain --no-legend
    apt:list,apt:show,apt:policy,apt:search data -a --installed --upgradable --all-versions
        --names-only
    apt-cache:policy,apt-cache:show,apt-cache:search,apt-cache:madison,apt-cache:depends data
        --names-only
    brew:list,brew:info,brew:--version,brew:config,brew:deps data --versions --cask --formula -1
    gem:list,gem:--version data --local
    cargo:--list,rustup:show,rustup:--version data/0
"""
PROGRAMS = _read_table(_TABLE)
SUBCOMMANDS = {name.replace(":", " "): each for name, each in _read_table(_SUBCOMMANDS).items()}
# Copying and moving: the last operand is where to.
_CARRIERS = (
    "cp read -adfHiLnpPrRuvTx --archive --force --interactive --no-clobber --preserve? --recursive"
    " --update? --verbose --no-dereference --dereference --no-target-directory",
    "mv write -finuvT --force --interactive --no-clobber --update? --verbose",
)
CARRIERS = {names[0]: program for names, program in map(_read_line, _CARRIERS)}
RECURSIVE = frozenset({"-a", "-r", "-R", "--archive", "--recursive"})
# With one of these the first operand of a search is no pattern but a file.
PATTERN_GIVEN = frozenset({"-e", "-f", "--regexp", "--file", "--files", "--type-list"})
COUNTS = frozenset({"head", "tail", "grep", "egrep", "fgrep", "diff", "fold", "strings", "fmt"})

GIT_LONG = frozenset(
    _words("""
    --abbrev --abbrev-commit --abbrev-ref --absolute-git-dir --all --all-match --ancestry-path
    --annotate-stdin --author --branch --branches --cached --cc --check --cherry --cherry-mark
    --cherry-pick --children --color --color-words --column --committer --contains --count --date
    --date-order --decorate --decorate-refs --deleted --diff-algorithm --diff-filter --dirstat
    --dry-run --error-unmatch --exclude --exclude-standard --exit-code --extended-regexp
    --find-renames --find-copies --first-parent --fixed-strings --follow --format --full-diff
    --full-history --full-index --function-context --get --get-all --get-regexp --git-common-dir
    --git-dir --graph --grep --heads --histogram --ignore-all-space --ignore-blank-lines
    --ignore-case --ignore-space-change --ignored --inter-hunk-context --invert-grep --is-ancestor
    --is-inside-work-tree --left-right --line-number --list --local --long --max-count --max-depth
    --merge-base --merged --merges --message --minimal --modified --name-only --name-status
    --no-commit-id
    --no-abbrev --no-abbrev-commit --no-color --no-contains --no-decorate --no-ext-diff
    --no-merged --no-merges --no-patch --no-prefix --no-renames --no-textconv --no-walk --not
    --numbered --numstat --oneline --one-file-system --only-matching --ours --others --parents
    --patch --patch-with-stat --patience --perl-regexp --pickaxe-all --pickaxe-regex --points-at
    --porcelain --pretty --quiet --raw --recurse-submodules --refs --regexp-ignore-case
    --relative --relative-date --remotes --reverse --root --short --shortstat --show-current
    --show-function --show-prefix --show-pulls --show-toplevel --show-untracked
    --since --sort --source --stage --staged --stat --summary --symbolic --symbolic-full-name
    --tags --text --theirs --topo-order --unified --unmerged --until --untracked --untracked-files
    --verbose --verify --version --word-diff --word-diff-regex --word-regexp --after --before
    --always --candidates --dirty --exact-match --match --tag --global --system --show-origin
    --ahead-behind --no-ahead-behind --find-object --full-name --eol --abbrev --email --numbered
    --no-optional-locks --line-porcelain --show-email --show-name --show-number --simplify-merges
""")
)
GIT_SHORT = r"-(?:\d+|[abcdilnpqrstuvwxzEFGHhIPmegoRBDT]+|[ULnSGCM].*)"

_TESTS = _words("""
    -name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype
    -maxdepth -mindepth -size -mtime -atime -ctime -mmin -amin -cmin -perm -user -group -printf
    -inum -links -lname -ilname -newermt -uid -gid -used
""")
FIND_WITH_VALUE: dict[str, Kind] = dict.fromkeys(_TESTS, "data")
FIND_WITH_VALUE |= {"-newer": "names", "-samefile": "names", "-anewer": "names", "-cnewer": "names"}
FIND_ALONE = frozenset(
    _words("""
    -print -print0 -ls -empty -readable -writable -executable -not -and -or -a -o ! ( ) , -prune
    -quit -depth -mount -xdev -daystart -follow -true -false -nouser -nogroup -H -L -P
""")
)
XARGS_WITH_VALUE = frozenset({"-n", "-L", "-P", "-s", "-d", "--max-args", "--max-procs"})
XARGS_ALONE = frozenset({"-0", "--null", "-r", "--no-run-if-empty", "-t", "-x"})

# They run what they are given, or what they find: no pattern of them is ever harmless.
RUNNERS = frozenset(
    _words("""
    . alias ash at awk gawk mawk nawk bash batch bind builtin bun busybox bwrap cargo chroot chrt
    command compgen complete coproc cpulimit csh dash deno doas docker ed emacs enable env eval ex
    exec expect export fakeroot find firejail fish flock ftp gcc gdb git-shell go ionice irb java
    ksh ld ldd ln lua luajit m4 make man mapfile mksh ncat nc nice node nohup npm npx nsenter octave
    parallel perl php pip pip3 pipx pkexec pnpm podman poetry psql pytest python python2 python3 r
    readarray rlwrap rsync ruby run-parts rustc screen script sed set setarch setpriv setsid sg sh
    socat source ssh sqlite3 stdbuf strace su sudo systemd-run taskset tclsh tar tcsh time timeout
    tmux toybox trap tsx unshare uv uvx valgrind vi vim view watch wish xargs xvfb-run yarn yash zip
    zsh
""")
)
# They start the program behind their first so many words.
WRAPPERS = {"time": 0, "timeout": 1}
# Asked for its version or its help, every installed program answers; these are none.
NO_PROGRAMS = frozenset(_words(". bind builtin command coproc enable eval exec source trap"))
# Whatever words they get, they only print them.
PRINTERS = frozenset({"echo", "basename", "dirname"})
# What no answer makes right here: the machine, its owner's session, or all of its disk.
NEVER = frozenset({"shutdown", "reboot", "halt", "poweroff", "mkfs", "wipefs", "insmod", "rmmod"})
ENGINES = frozenset({"docker", "podman", "nerdctl"})
# Names of variables whose values nobody should see.
SENSITIVE_VARIABLE = r"(?i).*(?:key|token|secret|passw|passphrase|credential|auth|cookie|session).*"
