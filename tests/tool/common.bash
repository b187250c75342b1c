# Sourced by the tests of the program heddle; $1 is the program's path. Sets $heddle. Enters an
# empty directory $dir, which is removed at the end. Defines checks that count failures.
set -euo pipefail
export LC_ALL=C
heddle=$(realpath -e "$1")
dir=$(mktemp -d)
failures=0
child=
finish() {
    local status=$?
    trap - EXIT
    if [ -n "$child" ]; then kill -KILL "$child" 2>/dev/null || true; fi
    cd /
    rm -rf "$dir"
    if [ "$status" -eq 0 ] && [ "$failures" -gt 0 ]; then status=1; fi
    exit "$status"
}
trap finish EXIT
cd "$dir"

fail() {
    printf 'FAILED: %s\n' "$*"
    failures=$((failures + 1))
}
# same NAME ACTUAL EXPECTED: fails unless the two are equal
same() {
    if [ "$2" != "$3" ]; then fail "$1"; printf '     got: %s\n  wanted: %s\n' "$2" "$3"; fi
}
# contains NAME TEXT PART: fails unless the text has the part
contains() {
    if [[ $2 != *"$3"* ]]; then fail "$1"; printf '     got: %s\n  wanted: ...%s...\n' "$2" "$3"; fi
}
# patient SECONDS: prints a bound for hangs: SECONDS times HEDDLE_TEST_PATIENCE (by default 1).
patient() {
    awk -v s="$1" -v factor="${HEDDLE_TEST_PATIENCE:-1}" \
        'BEGIN { printf "%d\n", s * (factor > 0 ? factor : 1) }'
}
# run ARGUMENT...: runs the program. Sets $status, $out and $err.
run() {
    status=0
    "$heddle" "$@" >.out 2>.err </dev/null || status=$?
    out=$(cat .out) err=$(cat .err)
    rm -f .out .err
}
# start ARGUMENT...: runs the program in the background, as $child, until it has opened the
# last-named file. SIGINT interrupts it, unless $ignore_interrupt is set.
start() {
    local file
    file=$(realpath -e "${!#}")
    # Without job control, the children of a shell ignore SIGINT.
    if [ -z "${ignore_interrupt:-}" ]; then set -m; fi
    "$heddle" "$@" >.out 2>.err </dev/null &
    child=$!
    set +m
    opens "$file"
}
# opens FILE: waits until $child has opened the file and reads it, or has ended. The file must be
# large. A program that has only opened it may not have read its size yet.
opens() {
    local before
    until find "/proc/$child/fd" -lname "$1" 2>/dev/null | grep -q .; do
        if ! kill -0 "$child" 2>/dev/null; then return; fi
        sleep 0.01
    done
    before=$(has_read)
    until [ "$(has_read)" -ge $((before + 1000000)) ]; do
        if ! kill -0 "$child" 2>/dev/null; then return; fi
        sleep 0.01
    done
}
# has_read: prints how many bytes $child has read.
has_read() { sed -n 's/^rchar: //p' "/proc/$child/io" 2>/dev/null || echo 0; }
# ended: waits for $child. Sets $status, $out and $err.
ended() {
    status=0
    wait "$child" 2>/dev/null || status=$?
    child=
    out=$(cat .out) err=$(cat .err)
    rm -f .out .err
}
# pattern BYTES: prints this many bytes, always the same ones.
pattern() { head -c "$1" < <(seq 1 20000000 2>/dev/null); }
