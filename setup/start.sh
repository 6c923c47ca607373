# Becomes the Python of this checkout's own environment. Sourced by ./hermes and ./hermes-test, which set $root.
#
# An environment lies in the checkout (.venv) or, where that cannot be, in the user's cache. It is whole when its
# stamp names this checkout and holds the first line of every requirement file that is asked for: the stamp is
# written last. Up to that decision only shell builtins run, so a second start costs nothing but Python's own.
#
# HERMES_WITH="postgres ..." adds sets of requirements/, and they stay; HERMES_PYTHON picks the interpreter.

newline='
'

complain() {
    echo "hermes: $*" >&2
}

whole() { # ENVIRONMENT SETS
    [ -x "$1/bin/python" ] && [ -r "$1/hermes-stamp" ] || return 1
    stamp=$newline
    while IFS= read -r line; do
        stamp=$stamp$line$newline
    done <"$1/hermes-stamp"
    for set in $2; do
        [ -r "$root/requirements/$set.txt" ] && IFS= read -r line <"$root/requirements/$set.txt" || return 1
        case $stamp in *"$newline$line$newline"*) ;; *) return 1 ;; esac
    done
    case $stamp in *"${newline}root $root$newline"*) ;; *) return 1 ;; esac
    [ -z "${HERMES_PYTHON:-}" ] && return 0
    case $stamp in *"${newline}python $HERMES_PYTHON$newline"*) ;; *) return 1 ;; esac
}

in_cache() { # sets $cached: one place in the user's cache for each checkout; empty when the user has none
    cached=
    case ${XDG_CACHE_HOME:-} in /*) cached=$XDG_CACHE_HOME ;; *) case ${HOME:-} in /*) cached=$HOME/.cache ;; esac ;; esac
    [ -n "$cached" ] || return 0
    flat= rest=$root/
    while [ -n "$rest" ]; do
        flat=$flat${rest%%/*}-
        rest=${rest#*/}
    done
    while [ ${#flat} -gt 200 ]; do flat=${flat#?}; done
    cached=$cached/hermes/env$flat
}

ours() { # ENVIRONMENT: no other user of this machine can have put something there
    [ -O "${1%/*}" ] && [ -O "$1" ] && [ -O "$1/bin" ] && [ -O "$1/hermes-stamp" ]
}

recent() { # PYTHON
    "$1" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' </dev/null >/dev/null 2>&1
}

find_python() { # sets $python
    if [ -n "${HERMES_PYTHON:-}" ]; then
        python=$HERMES_PYTHON
        recent "$python" && return
        complain "HERMES_PYTHON=$python is not a Python 3.11 or newer."
        exit 1
    fi
    for python in python3 python3.13 python3.12 python3.11 python3.14 python; do
        recent "$python" && return
    done
    complain "needs Python 3.11 or newer, and there is none on the PATH."
    complain "install one (Debian, Ubuntu: apt install python3 python3-pip; macOS: brew install python@3.13;"
    complain "anywhere: uv python install 3.13) or say where it is: HERMES_PYTHON=/path/to/python3 ./hermes"
    exit 1
}

start() { # SETS ARGUMENT...
    sets=$1
    shift
    whole "$root/.venv" "$sets" && exec "$root/.venv/bin/python" "$@"
    in_cache
    [ -n "$cached" ] && ours "$cached" && whole "$cached" "$sets" && exec "$cached/bin/python" "$@"
    find_python
    exec "$python" -I "$root/setup/environment.py" "$root" "$cached" "$sets" "$@"
}
