#!/usr/bin/env bash
# heat_wrong_usage.sh PROGRAM: if the command line is wrong, 14_heat must exit with status 2. If
# there are too few CPU devices, it must print how to have more.
set -u
heat=$1

for words in '--size 2 9' '--size 9' '--graph 3' '--batch 3' '--graph 2 --batch 2' \
    '--norm-every x' '--halo near' '--devices 99' '--devices none:0' --tolerances; do
    # shellcheck disable=SC2086 # words
    "$heat" $words
    [ $? -eq 2 ] || exit 1
done
"$heat" --devices 99 2>&1 | grep -q HEDDLE_CPU_DEVICES
