#!/usr/bin/env bash
# What it does, in a sentence.
# Usage: NAME [-n] FILE…      -n: only say what would be done
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }
die() { say "$(basename "$0"): $*"; exit 1; }

dry=
while getopts n option; do
    case $option in
        n) dry=1 ;;
        *) die "usage: $(basename "$0") [-n] FILE…" ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || die "no files given"

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

for file in "$@"; do
    [ -f "$file" ] || die "$file: no such file"
    if [ -n "$dry" ]; then
        say "would work on $file"
        continue
    fi
    cp -- "$file" "$scratch/result"
    mv -- "$scratch/result" "$file"
done
