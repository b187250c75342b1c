#!/usr/bin/env bash
# scripts/demo says what is wrong with its FILE in one line, before it installs or builds anything.
demo=$(realpath -e "$(dirname "$0")/../../scripts/demo")
. "$(dirname "$0")/common.bash"
heddle=$demo

# bad REASON ARGUMENT...
bad() {
    local reason=$1
    shift
    run "$@"
    same "demo $*: status" "$status" 1
    same "demo $*: output" "$out" ""
    same "demo $*: message" "$err" "demo: $reason"
}
mkdir directory
pattern 10 >good
bad "directory is a directory" directory
bad "there is no file missing" missing
bad "/dev/null is not a regular file" /dev/null
bad "the name of the file is empty (usage: scripts/demo [FILE])" ""
bad "unknown option --frobnicate (usage: scripts/demo [FILE])" --frobnicate
bad "one file at a time (usage: scripts/demo [FILE])" good good
bad "there is no file -missing" -- -missing
run --help
same "help: status" "$status" 0
contains "help: usage" "$out" "usage: scripts/demo [FILE]"
