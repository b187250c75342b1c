#!/usr/bin/env bash
# If FILE is wrong, scripts/demo prints a one-line error before it installs or builds anything.
demo=$(realpath -e "$(dirname "$0")/../../scripts/demo")
. "$(dirname "$0")/common.bash"
heddle=$demo

# bad REASON ARGUMENT...: the error must contain the reason
bad() {
    local reason=$1
    shift
    run "$@"
    same "demo $*: status" "$status" 1
    same "demo $*: output" "$out" ""
    same "demo $*: message" "$err" "demo: $reason"
}
usage="usage: scripts/demo [--cpu] [--no-install] [--built FOLDER] [--quick] [FILE]"
mkdir directory
pattern 10 >good
bad "directory is a directory" directory
bad "there is no file missing" missing
bad "/dev/null is not a regular file" /dev/null
bad "the name of the file is empty ($usage)" ""
bad "unknown option --frobnicate ($usage)" --frobnicate
bad "one file at a time ($usage)" good good
bad "there is no file -missing" -- -missing
bad "--built: there is no program directory/bin/heddle" --built directory
bad "--built: there is no program /bin/heddle" --built
run --help
same "help: status" "$status" 0
contains "help: usage" "$out" "$usage"
