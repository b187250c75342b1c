#!/usr/bin/env bash
# heat_no_folder.sh PROGRAM: if the result cannot be written, 14_heat must report this before it
# runs. It must print nothing to standard output.
set -u
heat=$1

printed=$("$heat" --size 9 9 --output no_such_folder/heat.ppm)
[ $? -eq 1 ] && [ -z "$printed" ]
