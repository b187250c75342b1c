#!/usr/bin/env bash
# wrong_usage.sh PROGRAM: a wrong device must be reported in one line, with exit status 2.
set -eu
program=$1
message=$(mktemp)
trap 'rm -f "$message"' EXIT

# rejects ARGUMENT...: the program must reject these arguments.
rejects() {
    local status=0
    "$program" "$@" 2>"$message" || status=$?
    [ $status -eq 2 ]
    [ "$(wc -l <"$message")" -eq 1 ]
}

for word in gpu7 cpu:63 --frob; do
    rejects $word
done
HEDDLE_DEVICE=gpu7 rejects
"$program" --help | grep -q '^usage: '
