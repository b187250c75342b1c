#!/usr/bin/env bash
# run_all_wrong_usage.sh PYTHON BUILD: run_all must exit with status 2 if its command line is wrong.
set -u
python=$1 build=$2

for words in --frob '--only none' '--build nowhere'; do
    # shellcheck disable=SC2086 # words
    "$python" "$(dirname "$0")/run_all" --quick --build "$build" --out wrong_usage $words
    [ $? -eq 2 ] || exit 1
done
