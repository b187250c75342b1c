#!/usr/bin/env bash
# wrong_usage.sh PROGRAM: a message must name each error in a benchmark's command line or
# environment. If --only excludes every row, a message must say so. PROGRAM is bench_graphs.
set -eu
program=$1

# ends STATUS COMMAND...: the command must exit with this status.
ends() {
    local status=0
    "${@:2}" || status=$?
    [ $status -eq "$1" ]
}

for words in --frob --only --limit '--limit x' '--limit 0' '--limit -1' '--limit nan' '--time 0' \
    '--device none:0'; do
    # shellcheck disable=SC2086 # words
    ends 2 "$program" --quick $words
done
HEDDLE_DEVICE=gpu7 ends 2 "$program" --quick
"$program" --frob 2>&1 | grep -q -e ' --frob'
"$program" --help | grep -q '^  --limit'
ends 1 "$program" --quick --device cpu --only 'no such row'
"$program" --quick --device cpu --only 'graph of 1 node' --limit 60.5
