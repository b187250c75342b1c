#!/usr/bin/env bash
# The output of `heddle digest` in addition to the digests: rates, JSON and help. Also which
# arguments it rejects as wrong usage.
. "$(dirname "$0")/common.bash"
pattern 1000000 >file
pattern 4097 >good
line="sha256:a09061f9b47b90712292bddc2a0a0ccb524bef36efac0ca8f697d2e971045f12 good"

run digest good file
contains "figures: bytes, over all files" "$err" "1004097 bytes in "
contains "figures: rate" "$err" "B/s on "
contains "figures: reading" "$err" "busy: reading "
contains "figures: hashing" "$err" ", hashing "
contains "figures: overlap" "$err" "overlap: "
same "figures: two lines" "$(wc -l <<<"$err")" 2
if [[ $err == *$'\r'* || $err == *$'\e'* ]]; then fail "a progress bar in a pipe"; fi
run digest good
contains "figures: no rate for a few bytes" "$err" " s on "
run digest --serial good
contains "serial: said" "$err" ", serial; set up in "
run digest missing
same "figures: none where nothing was done" "$err" "heddle: missing: No such file or directory"
run digest --quiet good
same "quiet" "$err" ""
same "quiet: output" "$out" "$line"

# On a terminal, the program shows a progress bar and erases it at the end.
if command -v script >/dev/null; then
    truncate -s 64M hole
    # on_terminal COMMAND: prints the command's output on a terminal.
    on_terminal() { TERM=xterm script -qec "$1" /dev/null </dev/null | tr -d '\r'; }
    shown=$(on_terminal "'$heddle' digest --serial --chunk 4096 hole")
    contains "progress bar" "$shown" " % "
    contains "progress bar: cleared" "$shown" $'\e[Ksha256:'
    shown=$(on_terminal "'$heddle' digest --quiet --serial --chunk 4096 hole")
    if [[ $shown == *$'\e'* ]]; then fail "a progress bar in spite of --quiet"; fi
    rm hole
fi

run digest --quiet --json good file
same "json: status" "$status" 0
same "json: a line a file" "$(wc -l <<<"$out")" 2
contains "json: digest" "$out" "\"digest\": \"${line% good}\""
if command -v python3 >/dev/null; then
    cp good $'odd "\\ \xff\u00e9\t'
    run digest --json good $'odd "\\ \xff\u00e9\t' missing
    same "json: status with a bad file" "$status" 1
    contains "json: errors are still lines" "$err" "heddle: missing: No such file or directory"
    checked=$(printf '%s\n' "$out" | python3 -c '
import json, os, sys
for line in sys.stdin:
    o = json.loads(line)
    assert set(o) == {"path", "digest", "bytes", "seconds", "busy_seconds", "setup_seconds",
                      "device", "chunk", "depth", "serial"}, o
    assert set(o["busy_seconds"]) == {"reading", "copying", "hashing"}, o
    assert o["bytes"] == 4097 and o["seconds"] > 0, o
    assert o["serial"] is False and o["chunk"] % 4096 == 0, o
    assert os.path.exists(o["path"].encode("utf-8", "surrogateescape")), o
    print(o["digest"])' 2>&1) || true
    same "json: parsed" "$checked" "${line% good}
${line% good}"
fi

# usage PART ARGUMENT...: wrong usage must be reported, with status 2 and without any other effect.
usage() {
    local part=$1
    shift
    run "$@"
    same "heddle $*: status" "$status" 2
    same "heddle $*: output" "$out" ""
    contains "heddle $*: message" "$err" "$part"
}
usage "a command is missing: write digest or devices"
usage "FILE" digest
usage '"frobnicate" is not a command: write digest or devices' frobnicate
usage '"--frobnicate" is not a command' --frobnicate
usage "--frobnicate" digest --frobnicate good
usage "multiple of 4096" digest --chunk 4097 good
usage "must be positive" digest --chunk 0 good
usage "not a size" digest --chunk 4X good
usage "not a size" digest --chunk -4K good
usage "not a size" digest --chunk 99999999999999999999 good
usage "16G at most" digest --chunk 17G good
usage "--depth" digest --depth 1 good
usage "--depth" digest --depth 65 good
usage "--depth" digest --depth many good

run --version
same "version: status" "$status" 0
version='^heddle [0-9]+\.[0-9]+\.[0-9]+ \(built with(out CUDA| CUDA [0-9.]+)\)$'
if [[ ! $out =~ $version ]]; then fail "version: $out"; fi
run --help
same "help: status" "$status" 0
contains "help: digest" "$out" "digest"
contains "help: devices" "$out" "devices"
contains "help: exit status" "$out" "Exit status: 0 "
run digest --help
same "digest --help: status" "$status" 0
for option in --device --chunk --depth --serial --json --quiet; do
    contains "digest --help" "$out" "$option"
done
