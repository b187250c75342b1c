#!/usr/bin/env bash
# run_all.sh PYTHON BUILD OUT: runs two benchmarks by run_all. It must write a table of their
# rows, with a description of the machine above them.
set -eu
python=$1 build=$2 out=$3

"$python" "$(dirname "$0")/run_all" --quick --build "$build" --out "$out" \
    --only bench_graphs --only bench_bandwidth
grep -q '^CPU: ' "$out/rows.md"
if grep 'CUDA toolkit.*CUDA toolkit' "$out/rows.md"; then exit 1; fi
grep -q '^ratio is ' "$out/rows.md"
grep -q '^## bench_graphs' "$out/rows.md"
grep -q '| cpu:0 |' "$out/rows.md"
