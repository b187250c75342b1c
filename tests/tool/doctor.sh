#!/usr/bin/env bash
# `heddle doctor` reports versions, devices, measurements and settings, as text and as JSON.
. "$(dirname "$0")/common.bash"
unset HEDDLE_CPU_DEVICES HEDDLE_DEVICE
for name in $(compgen -e HEDDLE_ || true); do
    case $name in HEDDLE_CHECK | HEDDLE_WATCH) ;; *) unset "$name" ;; esac
done

run doctor
same "status" "$status" 0
same "nothing on standard error" "$err" ""
for title in heddle build compiler system "CPU workers" "CPU caches" CUDA NCCL "default device"; do
    contains "$title" $'\n'"$out" $'\n'"$title"
done
contains "the version" "$out" "$("$heddle" --version | sed 's/heddle \([0-9.]*\).*/\1/')"
contains "the workers" "$out" " threads for "
contains "devices" "$out" $'\ndevice  name'
contains "the CPU" "$out" $'\ncpu:0'
if [[ $out != *$'\ncuda:0 '* ]]; then contains "why there is no CUDA" "$out" "not usable: "; fi
if [[ $out == *wake-up* ]]; then fail "measured without a request"; fi

export HEDDLE_CPU_DEVICES=2 HEDDLE_CHEKC=1 HEDDLE_OF_A_PROGRAM="a b" HEDDLE_NVTX=
run doctor --measure
same "measure: status" "$status" 0
out=$(tr -s ' ' <<<"$out")   # columns are as wide as the names of the devices
contains "a peer" "$out" $'\naccess cpu:0 cpu:1'
contains "rates" "$out" $'\nGB/s to device to host pageable on device\n'
contains "times" "$out" $'\nus launch event wait wake-up\n'
contains "copies between devices" "$out" $'\ncpu:1 cpu:0 '
contains "a variable" "$out" $'\nHEDDLE_CPU_DEVICES=2\n'
contains "a misspelt variable" "$out" \
    $'\nHEDDLE_CHEKC=1 (unknown: did you mean HEDDLE_CHECK?)\n'
contains "another variable" "$out" $'\nHEDDLE_OF_A_PROGRAM=a b (heddle does not read it)'
if [[ $out == *HEDDLE_NVTX* ]]; then fail "an empty variable is listed"; fi

HEDDLE_NCCL=/nowhere/nccl.so HEDDLE_CUPTI=/nowhere/cupti.so run doctor --json --measure
same "json: status" "$status" 0
if command -v python3 >/dev/null; then
    checked=$(python3 -c '
import json, sys
o = json.loads(sys.argv[1])
assert list(o) == ["heddle", "build", "compiler", "system", "parts", "default", "default_problem",
                   "devices", "variables"], list(o)
parts = {p["name"]: p for p in o["parts"]}
assert parts["CPU workers"]["problem"] is None and parts["CPU workers"]["found"], parts
assert parts["NCCL"]["found"] is None and parts["NCCL"]["problem"], parts
assert ("CUDA" in parts) != ("CUDA driver" in parts), parts
cpus = [d for d in o["devices"] if d["device"].startswith("cpu:")]
cudas = [d for d in o["devices"] if d["device"].startswith("cuda:")]
assert [d["device"] for d in cpus] == ["cpu:0", "cpu:1"], o
assert cpus[0]["peers"] == cpus[0]["pools"] == ["cpu:1"], cpus
assert cpus[0]["total_memory"] >= cpus[0]["free_memory"] > 0, cpus
assert all(d["bus_id"] for d in cudas) and not cpus[0]["bus_id"], o
assert o["default"] == ("cuda:0" if cudas else "cpu:0") and o["default_problem"] is None, o
for device in o["devices"]:
    assert device["problem"] is None, device
    measured = device["measured"]
    copies = measured.pop("copies")
    assert len(measured) == 8 and all(value > 0 for value in measured.values()), device
    assert all(copy["gb_per_s"] > 0 for copy in copies), device
assert cpus[0]["measured"] is not None
known = {v["name"]: (v["value"], v["is_read"], v["meant"]) for v in o["variables"]}
assert known["HEDDLE_CPU_DEVICES"] == ("2", True, None), known
assert known["HEDDLE_CHEKC"] == ("1", False, "HEDDLE_CHECK"), known
assert known["HEDDLE_OF_A_PROGRAM"] == ("a b", False, None), known
assert "HEDDLE_NVTX" not in known, known
print("good")' "$out" 2>&1) || true
    same "json: parsed" "$checked" good
fi

# A wrong default device is reported. It is no error.
HEDDLE_DEVICE=toaster run doctor
same "a bad default device: status" "$status" 0
contains "a bad default device" "$out" 'none: HEDDLE_DEVICE: "toaster" is not a device'
HEDDLE_DEVICE=cpu:63 run doctor --json
same "a missing default device: status" "$status" 0
contains "a missing default device" "$out" '"default": null, "default_problem": "HEDDLE_DEVICE: '

run doctor something
same "an argument too many: status" "$status" 2
if [ -w /dev/full ]; then
    status=0
    "$heddle" doctor >/dev/full 2>.err || status=$?
    same "full output: status" "$status" 1
    same "full output: message" "$(cat .err)" "heddle: standard output could not be written"
fi
