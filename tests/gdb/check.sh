# Runs a program in gdb, and prints its objects with heddle's pretty-printers.
# usage: check.sh PROGRAM PRINTERS. Exit status 77, and a reason, where gdb cannot be used.
set -euo pipefail
export LC_ALL=C
skip() {
    echo "skipped: $1"
    exit 77
}
command -v gdb >/dev/null || skip "gdb is not installed"
gdb -nx -batch -ex "python print('python')" 2>/dev/null | grep -q python ||
    skip "this gdb has no Python"
gdb -nx -batch -ex run /bin/true 2>&1 | grep -q "exited normally" ||
    skip "gdb cannot run programs here"

failures=0
output=$(gdb -nx -batch -iex "set auto-load no" -ex "source $2" -ex "break stop_here" -ex run \
    -ex up -ex "print device" -ex "print copy" -ex "print reference" -ex "print none" \
    -ex "print gone" -ex "print idle" -ex "print made" -ex "print recorded" -ex "print moved" \
    -ex "print x" -ex "print pinned_memory" -ex "print no_memory" -ex "print outlived" \
    -ex "print of_host" \
    -ex "print part" -ex "print plain" "$1" 2>&1)
expect() { # a line that matches the pattern, of the values that gdb printed
    grep -qE '^\$[0-9]+ = '"$1\$" <<<"$output" || {
        echo "not printed: $1"
        failures=1
    }
}
expect "cpu:0"
expect "stream 'copy' on cpu:0, priority -1, 3 of [0-9]+ operations pending"
expect "no stream"
expect "a destroyed stream"
long_name="a name too long for the string itself"
expect "stream '$long_name' on cpu:0, priority 0, 0 of 0 operations pending"
expect "event on cpu:0, not recorded"
expect "event on cpu:0, recorded on stream 'copy' after its operation [0-9]+"
expect "an event that was moved from"
expect "Array<float>\[4\] on cpu:0 = \{0, 0, 0, 0\}"
expect "Array<int>\[3\] in pinned memory = \{7, 8, 9\}"
expect "Array<int>\[0\], no memory"
expect "View<int>\[2\] of a destroyed array"
expect "View<(const int|int const)>\[5\] at 0x[0-9a-f]+"
expect "View<float>\[2\] on cpu:0 = \{0, 0\}"
expect "stream [0-9]+ on cpu:0, priority 0, 0 of 0 operations pending"
[ "$failures" = 0 ] || echo "$output"
exit "$failures"
