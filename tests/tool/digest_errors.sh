#!/usr/bin/env bash
# For each file that cannot be digested, standard error has one clear line. The other files are
# still digested. The exit status is 1.
. "$(dirname "$0")/common.bash"
good_line="sha256:a09061f9b47b90712292bddc2a0a0ccb524bef36efac0ca8f697d2e971045f12 good"
pattern 4097 >good

# bad FILE REASON: puts a file that must fail between two that must succeed.
bad() {
    run digest --quiet good "$1" good
    same "$1: status" "$status" 1
    same "$1: message" "$err" "heddle: $1: $2"
    same "$1: the other files" "$out" "$good_line
$good_line"
}
bad missing "No such file or directory"
mkdir directory
bad directory "is a directory"
mkfifo pipe
bad pipe "is not a regular file"
bad /dev/null "is not a regular file"
ln -s loop loop
bad loop "Too many levels of symbolic links"
bad good/inside "Not a directory"
bad - "standard input is not supported, because the file is read at many places at once: \
name a regular file"
run digest --quiet ""
same "an empty name: status" "$status" 1
same "an empty name: message" "$err" 'heddle: "": No such file or directory'
if [ "$(id -u)" -ne 0 ]; then
    pattern 10 >unreadable
    chmod 0 unreadable
    bad unreadable "Permission denied"
fi
run digest --quiet missing directory
same "two bad files: status" "$status" 1
same "two bad files: messages" "$err" "heddle: missing: No such file or directory
heddle: directory: is a directory"
same "two bad files: output" "$out" ""
run digest $'two\nlines'
same "a line break in a name" "$err" "heddle: two lines: No such file or directory"

# A file that becomes shorter after it was opened. The file is a hole, which is large enough to keep
# any machine busy for seconds.
for mode in "" --serial; do
    truncate -s 1T shrinking
    start digest --quiet $mode good shrinking
    truncate -s 4096 shrinking
    ended
    same "shrinking $mode: status" "$status" 1
    same "shrinking $mode: message" "$err" "heddle: shrinking: became shorter while it was read"
    same "shrinking $mode: the file before it" "$out" "$good_line"
done
# The failure does not affect the file after it.
truncate -s 1T shrinking
ln good after
"$heddle" digest --quiet shrinking after >.out 2>.err </dev/null &
child=$!
opens "$dir/shrinking"
truncate -s 0 shrinking
ended
same "shrinking before another: status" "$status" 1
same "shrinking before another: message" "$err" \
    "heddle: shrinking: became shorter while it was read"
same "shrinking before another: output" "$out" "${good_line% good} after"

# Errors about devices.
run digest --device cpu:77 good
same "a device that is not there: status" "$status" 1
same "a device that is not there: output" "$out" ""
contains "a device that is not there: message" "$err" \
    "heddle: --device: device cpu:77 does not exist: "
same "a device that is not there: one line" "$(wc -l <<<"$err")" 1
run digest --device toaster good
same "no device at all: status" "$status" 2
contains "no device at all: message" "$err" "heddle: --device: \"toaster\" is not a device"
same "no device at all: one line" "$(wc -l <<<"$err")" 1
HEDDLE_DEVICE=toaster run digest good
same "a bad default device: status" "$status" 2
contains "a bad default device: message" "$err" "heddle: HEDDLE_DEVICE: \"toaster\" is not a device"
same "a bad default device: one line" "$(wc -l <<<"$err")" 1
HEDDLE_DEVICE=cpu:63 run digest good
same "a default device that is not there: status" "$status" 1
contains "a default device that is not there: message" "$err" \
    "heddle: HEDDLE_DEVICE: device cpu:63 does not exist: "
HEDDLE_DEVICE=toaster run digest --quiet --device cpu good
same "a bad default device that nobody asks for: output" "$out" "$good_line"
if ! "$heddle" devices | grep -q '^cuda:0'; then
    run digest --device cuda good
    same "no GPU: status" "$status" 1
    contains "no GPU: message" "$err" "heddle: --device: device cuda:0 does not exist: "
fi

# Standard output that accepts nothing.
if [ -w /dev/full ]; then
    status=0
    "$heddle" digest --quiet good >/dev/full 2>.err || status=$?
    same "full output: status" "$status" 1
    contains "full output: message" "$(cat .err)" "could not be written"
fi
