#!/usr/bin/env bash
# The output of scripts/demo is right, for files of any size, and it reports errors. Needs examples.
scripts=$(realpath -e "$(dirname "$0")/../../scripts")
. "$(dirname "$0")/common.bash"
programs=$(dirname "$heddle")
if ! [ -x "$programs/example_04_priorities" ] || ! [ -x "$programs/example_14_heat" ]; then
    echo "skipped: the examples are not built"
    exit 77
fi
heddle=$scripts/demo
mkdir -p built/bin
original() { ln -sf "$programs/$1" built/bin; }
for name in heddle example_04_priorities example_14_heat; do original "$name"; done

# instead NAME LINE...: replaces a program by a script.
instead() {
    local name=built/bin/$1
    shift
    rm "$name"
    printf '%s\n' '#!/usr/bin/env bash' "$@" >"$name"
    chmod +x "$name"
}
# count NAME PART EXPECTED: checks how many lines of the output contain the part.
count() { same "$1: lines with \"$2\"" "$(grep -c "$2" <<<"$out" || true)" "$3"; }

right() {
    run --built built --quick "$2"
    same "$1: status" "$status" 0
    count "$1" "bit for bit as on one device" 4
    count "$1" "the digest of " 2
    count "$1" "every value as asked for" 2
    same "$1: what is wrong" "$(grep WRONG <<<"$out" || true)" ""
    contains "$1: the last line" "$(tail -1 <<<"$out")" "ran on "
    contains "$1: the page's path" "$out" "$dir/built/demo.html"
    same "$1: verity_digest" "$("$scripts/verity_digest" "$2")" \
        "$("$programs/heddle" digest --quiet "$2")"
}
# wrong NAME PART EXPECTED: checks that the demo fails, and that EXPECTED lines contain the part.
wrong() {
    run --built built --quick 4097
    same "$1: status" "$status" 1
    count "$1" "$2" "$3"
    count "$1" WRONG "$3"
}

for bytes in 0 1 4096 4097; do pattern $bytes >$bytes; done
right "a block and a byte" 4097
contains "the page" "$(head -c 1000 built/demo.html)" "<html"

# These results were checked above, so they need not be computed again.
writes_page='if [ -n "${HEDDLE_TIMELINE-}" ]; then echo page >"$HEDDLE_TIMELINE"; fi'
heat=("echo '{\"seconds\": 1}'" "$writes_page")
instead example_14_heat "${heat[@]}"
urgent=('echo under load priority -1 20 30 2' 'echo under load priority 0 2000 3000 2')
instead example_04_priorities "${urgent[@]}"
right "an empty file" 0
contains "an urgent request" "$out" "2.00 ms (median; worst 3.00), 100.0 times as long"
right "a byte" 1
cp 4096 "./-a name, \"seconds\": 7 \\"
right "a block, and a strange name" "./-a name, \"seconds\": 7 \\"

instead example_14_heat "$writes_page" '[[ $* != *--check* ]] || { echo check: other >&2; exit 1; }'
wrong "heat" "WRONG: check: other" 4
instead example_14_heat 'echo "{\"seconds\": 1}"'
wrong "no page" "WRONG: no page was written" 1
instead example_14_heat "${heat[@]}"
instead heddle "'$programs/heddle' \"\$@\" | sed 's/sha256:./sha256:x/'"
wrong "a digest" "WRONG: not the digest of" 2
original heddle
instead example_04_priorities "${urgent[@]}" 'exit 1'
wrong "priorities" "WRONG: other values than asked for" 1
