#!/usr/bin/env bash
# digest_rates.sh PROGRAM [GB [OPTION...]]: how fast `heddle digest` does a file in the page cache (8 GB unless told
# otherwise), on the default device and on the CPU, overlapped and serial, beside `fsverity digest`; medians of $RUNS (7)
# interleaved runs. With SWEEP=1 also by chunk and depth. OPTIONs go to every `heddle digest`.
set -euo pipefail
export LC_ALL=C
heddle=$(realpath -e "$1")
gigabytes=${2:-8}
options=("${@:3}")
runs=${RUNS:-7}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
file=$work/file

# Bytes that do not repeat: a counter, encrypted; several writers, because one is slow.
for ((i = 0; i < gigabytes; ++i)); do
    { head -c 1000000000 < <(openssl enc -aes-128-ctr -nosalt -pass "pass:$i" </dev/zero 2>/dev/null ||
        cat /dev/urandom) | dd of="$file" bs=1M oflag=seek_bytes seek=$((i * 1000000000)) conv=notrunc \
        iflag=fullblock status=none; } &
    if (((i + 1) % $(nproc) == 0)); then wait; fi
done
wait
cat "$file" >/dev/null
bytes=$(stat -Lc %s "$file")

names=()
declare -A command
add() { names+=("$1"); command[$1]="${*:2}"; }
if command -v fsverity >/dev/null; then add "fsverity digest" fsverity digest; fi
device=$("$heddle" devices | sed -n 's/^default: //p')
digest="$heddle digest --json --quiet ${options[*]}"
add "$device" "$digest" --device "$device"
add "$device, serial" "$digest" --device "$device" --serial
if [ "$device" != cpu:0 ]; then
    add "cpu:0" "$digest" --device cpu:0
    add "cpu:0, serial" "$digest" --device cpu:0 --serial
fi
if [ -n "${SWEEP:-}" ]; then
    for chunk in 1M 2M 4M 8M 16M 32M 64M; do
        for depth in 2 3 4 6 8; do add "$device, $depth x $chunk" "$digest" --device "$device" --chunk $chunk --depth $depth; done
    done
fi

# Each line of a result: seconds of the whole process, of the streaming alone, and busy with each stage.
for ((run = 0; run < runs; ++run)); do
    for i in "${!names[@]}"; do
        begin=$EPOCHREALTIME
        # shellcheck disable=SC2086 # words
        line=$(${command[${names[$i]}]} "$file")
        whole=$(awk "BEGIN { print $EPOCHREALTIME - $begin }")
        figures=$(sed -nE 's/.*"seconds": ([0-9.]+).*"reading": ([0-9.]+), "copying": ([0-9.]+), "hashing": ([0-9.]+).*/\1 \2 \3 \4/p' <<<"$line")
        echo "$whole ${figures:-$whole 0 0 0}" >>"$work/$i"
        echo "${line#*sha256:}" | cut -c 1-64 >>"$work/digests"
    done
done
if [ "$(sort -u "$work/digests" | wc -l)" -ne 1 ]; then echo "WRONG: the digests differ" >&2; exit 1; fi

median() { cut -d ' ' -f "$2" "$work/$1" | sort -g | sed -n "$(((runs + 1) / 2))p"; }
printf '%-24s %8s %8s %8s   %s\n' "$bytes bytes" "whole s" "stream s" "GB/s" "busy s: reading copying hashing"
for i in "${!names[@]}"; do
    seconds=$(median "$i" 2)
    printf '%-24s %8.3f %8.3f %8.2f   %.3f %.3f %.3f\n' "${names[$i]}" "$(median "$i" 1)" "$seconds" \
        "$(awk "BEGIN { print $bytes / $seconds / 1e9 }")" "$(median "$i" 3)" "$(median "$i" 4)" "$(median "$i" 5)"
done
