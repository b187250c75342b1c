#!/usr/bin/env bash
# If the program is interrupted, it stops at once, prints one line, and leaves no files behind.
. "$(dirname "$0")/common.bash"
pattern 4097 >good
truncate -s 8T endless   # a hole that keeps any machine busy for minutes
most=$(patient 60)       # an uninterrupted run takes longer

for mode in "" --serial "--chunk 64M --depth 2"; do
    for signal in INT TERM; do
        # shellcheck disable=SC2086
        start digest $mode good endless
        begin=$SECONDS
        kill -"$signal" "$child"
        ended
        same "$signal $mode: status" "$status" $((128 + $(kill -l "$signal")))
        same "$signal $mode: message" "$err" "heddle: interrupted"
        same "$signal $mode: what was done before" "$out" \
            "sha256:a09061f9b47b90712292bddc2a0a0ccb524bef36efac0ca8f697d2e971045f12 good"
        if ((SECONDS - begin > most)); then fail "$signal $mode: took $((SECONDS - begin)) s"; fi
        same "$signal $mode: files left" "$(ls -A)" "endless
good"
    done
done

# If the signal was ignored when the program started, as by nohup, the program continues.
truncate -s 64M hole
ignore_interrupt=yes start digest --quiet --serial --chunk 4096 hole
kill -INT "$child" 2>/dev/null || true
ended
same "an ignored signal: status" "$status" 0
contains "an ignored signal: output" "$out" " hole"
