#!/usr/bin/env bash
# `heddle devices` lists all devices. If there is no CUDA device, it prints why.
. "$(dirname "$0")/common.bash"
unset HEDDLE_CPU_DEVICES HEDDLE_DEVICE

run devices
same "status" "$status" 0
same "nothing on standard error" "$err" ""
for title in device name memory free priorities "copy engines" processors "compute capability"; do
    contains "title" "$(head -1 <<<"$out")" "$title"
done
contains "the memory of arrays" "$out" $'\narrays  in use  peak  cached  from cache  new\n'
contains "the CPU" "$out" $'\ncpu:0 '
contains "the default" "$out" $'\ndefault: '
if [[ $out == *$'\ncuda:0 '* ]]; then
    if [[ $out == *"no CUDA devices"* ]]; then
        fail "CUDA devices, and a reason why there are none"
    fi
else
    contains "why there is no CUDA" "$out" $'\nno CUDA devices: '
fi
if [[ $out != *$'\ncuda:1 '* && $out == *$'\naccess '* ]]; then fail "peers of single devices"; fi

HEDDLE_CPU_DEVICES=3 run devices
contains "three CPU devices" "$out" $'\ncpu:2 '
contains "peers" "$out" $'\naccess  cpu:0       cpu:1       cpu:2'
contains "peers: a row" "$out" $'\ncpu:1   peer, pool  -           peer, pool'

HEDDLE_CPU_DEVICES=2 run devices --json
same "json: status" "$status" 0
if command -v python3 >/dev/null; then
    checked=$(python3 -c '
import json, sys
o = json.loads(sys.argv[1])
cpus = [d for d in o["devices"] if d["device"].startswith("cpu:")]
cudas = [d for d in o["devices"] if d["device"].startswith("cuda:")]
assert [d["device"] for d in cpus] == ["cpu:0", "cpu:1"], o
assert cpus[0]["peers"] == cpus[0]["pools"] == ["cpu:1"], o
assert cpus[0]["total_memory"] >= cpus[0]["free_memory"] > 0, o
assert cpus[0]["processors"] >= 1 and cpus[0]["compute_capability"] is None, o
assert cpus[0]["arrays"] == {"in_use": 0, "peak": 0, "held": 0, "hits": 0, "misses": 0}, o
assert (o["cuda_unavailable_reason"] is None) == bool(cudas), o
assert o["default"] in [d["device"] for d in o["devices"]], o
print("good")' "$out" 2>&1) || true
    same "json: parsed" "$checked" good
fi
run devices something
same "an argument too many: status" "$status" 2
HEDDLE_DEVICE=toaster run devices
same "a bad default device: status" "$status" 2
contains "a bad default device: message" "$err" "heddle: HEDDLE_DEVICE: \"toaster\" is not a device"
same "a bad default device: one line" "$(wc -l <<<"$err")" 1
contains "a bad default device: the table" "$out" $'\ncpu:0 '
HEDDLE_DEVICE=toaster run devices --json
same "a bad default device, json: status" "$status" 2
same "a bad default device, json: output" "$out" ""
HEDDLE_DEVICE=cpu:63 run devices
same "a default device that is not there: status" "$status" 1
contains "a default device that is not there: message" "$err" \
    "heddle: HEDDLE_DEVICE: device cpu:63 does not exist: "

# Standard output that accepts nothing. HEDDLE_CPU_DEVICES makes the output exceed a buffer.
if [ -w /dev/full ]; then
    for command in devices "devices --json" --help "devices --help" "digest --help" --version; do
        status=0
        # shellcheck disable=SC2086 # words
        HEDDLE_CPU_DEVICES=64 "$heddle" $command >/dev/full 2>.err || status=$?
        same "$command to full output: status" "$status" 1
        same "$command to full output: message" "$(cat .err)" \
            "heddle: standard output could not be written"
    done
fi
