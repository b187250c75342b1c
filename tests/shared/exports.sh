#!/usr/bin/env bash
# A shared libheddle exports only names of its public headers, and instantiations of the standard
# library's templates. usage: exports.sh LIBRARY INCLUDE
set -euo pipefail
library=$1 include=$2
names=$(nm -DC --defined-only "$library" | cut -d' ' -f2-)
words=$(find "$include" -name '*.hpp' -exec cat {} + | grep -oE '[A-Za-z_][A-Za-z_0-9]*' | sort -u)
# The names of functions and variables, without parameters and template arguments.
ours=$(grep -oE '(^[A-Za-z] |for |to )heddle::[A-Za-z_0-9:~]+' <<<"$names" |
    grep -oE 'heddle::.*' | tr -s ':' '\n' | tr -d '~' | grep . | sort -u)
inside=$(comm -23 <(echo "$ours") <(echo "$words"))
others=$(grep -vE '(heddle::|std::|__gnu_cxx::|operator (new|delete)|typeinfo (name )?for void )' \
    <<<"$names" || true)
# Names outside of heddle::detail that are not exported, but are in a public header.
hidden=$(nm -C --defined-only "$library" |
    sed -nE 's/^[0-9a-f]+ t (heddle::([A-Za-z_0-9]+::)*~?([A-Za-z_0-9]+|operator[^(]+)\(.*)/\1/p' |
    grep -vE 'detail::[^(]*\(|\[clone' | cut -d'(' -f1 | sort -u || true)
missing=$(while read -r name; do
    if grep -qxF "${name##*:}" <<<"$words" || [[ $name == *operator* ]]; then echo "$name"; fi
done <<<"$hidden")
[ "$(wc -l <<<"$ours")" -gt 300 ] || { echo "too few names were found"; exit 1; }
status=0
if [ -n "$inside" ]; then echo "exported, and in no public header:" $inside; status=1; fi
if [ -n "$missing" ]; then echo "in a public header, and not exported:" $missing; status=1; fi
if [ -n "$others" ]; then echo "exported, and not heddle's:"; echo "$others"; status=1; fi
exit "$status"
