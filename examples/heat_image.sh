#!/usr/bin/env bash
# heat_image.sh PROGRAM: an image that 14_heat has written must be read back unchanged.
set -eu
heat=$1

"$heat" --size 90 70 --output heat.ppm
"$heat" --input heat.ppm --iterations 0 --output again.ppm
cmp heat.ppm again.ppm
"$heat" --input heat.ppm --check
