#!/usr/bin/env bash
# If a file, time or name is wrong, `heddle timeline` reports it in one line, and leaves no file
# behind.
. "$(dirname "$0")/common.bash"

# bad STATUS REASON ARGUMENT...: `heddle timeline` must fail with this status and reason.
bad() {
    local wanted=$1 reason=$2
    shift 2
    run timeline "$@"
    same "timeline $*: status" "$status" "$wanted"
    same "timeline $*: output" "$out" ""
    contains "timeline $*: message" "$err" "$reason"
    same "timeline $*: one line" "$(wc -l <<<"$err")" 1
}
bad 1 'heddle: timeline: "missing" cannot be read: No such file or directory' missing
mkdir directory
bad 1 'heddle: timeline: "directory" cannot be read: Is a directory' directory
: >empty.trace
bad 1 'heddle: timeline: "empty.trace" is empty, because the program ended before it was written' \
    empty.trace
echo '{"traceEvents": []}' >run.json
bad 1 '"run.json" is not a trace of heddle (it begins with "{"traceEvent"): heddle reads only' \
    run.json
bad 1 '"run.json" is not a trace of heddle' run.json --html new.html
printf '\x89hedd' >cut.trace
bad 1 'heddle: timeline: "cut.trace" ends after 5 bytes' cut.trace
for file in new.html .html; do
    if [ -e "$file" ]; then fail "$file was left"; fi
done

bad 2 'heddle: TRACE is required' --summary
bad 2 '"10" has no unit: write 10ms, 1.5s, 250us or 800ns' run.json --from 10
bad 2 '"10m" is not a time: write 10ms' run.json --to 10m
bad 2 'heddle: timeline: --from 12ms is after --to 10ms' run.json --from 12ms --to 10ms
bad 2 'the name "page.svg" must end in .html' run.json --html page.svg
bad 2 'the name ".json" must end in .json' run.json --json .json
run timeline --help
same "help: status" "$status" 0
contains "help: environment" "$out" "HEDDLE_TIMELINE=run.trace"

# Times in the form in which the program prints them.
bad 1 'is not a trace of heddle' run.json --from '1.5 µs' --to '12.3 ms'
bad 2 '"12.3 mµs" is not a time' run.json --to '12.3 mµs'

# Writes all formats from a recorded run.
pattern 300000 >input
HEDDLE_TIMELINE=run.trace "$heddle" digest --quiet input >digests
same "recorded digest: lines" "$(wc -l <digests)" 1
run timeline run.trace
same "summary: status" "$status" 0
contains "summary: program" "$out" "Recorded heddle"
run timeline run.trace --html run.html --json out.json --svg run.svg --trace again.trace
same "conversion: status" "$status" 0
same "conversion: output" "$out" ""
for file in run.html out.json run.svg again.trace; do
    if ! [ -s "$file" ]; then fail "$file was not written"; fi
done
run digest --quiet --timeline direct.html input
same "digest --timeline: status" "$status" 0
if ! [ -s direct.html ]; then fail "direct.html was not written"; fi
run digest --timeline direct.txt input
same "digest --timeline direct.txt: status" "$status" 2
contains "digest --timeline direct.txt: message" "$err" \
    'the name "direct.txt" must end in .html, .svg, .json or .trace'
run digest --quiet --timeline none/run.html input
same "digest --timeline none/run.html: status" "$status" 1
contains "digest --timeline none/run.html: message" "$err" 'none/run.html'
