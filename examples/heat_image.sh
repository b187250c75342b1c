#!/usr/bin/env bash
# heat_image.sh PROGRAM: 14_heat must read back unchanged an image that it has written.
set -eu
heat=$1

"$heat" --size 90 70 --output heat.ppm
"$heat" --input heat.ppm --iterations 0 --output again.ppm
cmp heat.ppm again.ppm
"$heat" --input heat.ppm --check
