#!/usr/bin/env bash
# heat_no_folder.sh PROGRAM: a result that cannot be written is told before 14_heat runs: nothing is
# printed on standard output.
set -u
heat=$1

printed=$("$heat" --size 9 9 --output no_such_folder/heat.ppm)
[ $? -eq 1 ] && [ -z "$printed" ]
