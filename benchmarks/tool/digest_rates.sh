#!/usr/bin/env bash
# digest_rates.sh [--quick] [--json FILE] PROGRAM [GB [OPTION...]]: measures `heddle digest` for a
# file in the page cache (8 GB by default). Uses the default device and the CPU, overlapped and
# serial, and compares with `fsverity digest`. Prints medians of $RUNS (7) interleaved runs. SWEEP=1
# adds rows by chunk and depth. Each OPTION is passed to `heddle digest`. --quick is a smoke test.
# FILE receives rows in the form of the other benchmarks.
set -euo pipefail
export LC_ALL=C
quick=
json=
while [[ ${1-} == --* ]]; do
    case $1 in
        --quick) quick=1 ;;
        --json) json=$2; shift ;;
        *)
            echo "usage: digest_rates.sh [--quick] [--json FILE] PROGRAM [GB [OPTION...]]" >&2
            exit 2
            ;;
    esac
    shift
done
heddle=$(realpath -e "$1")
gigabytes=${2:-8}
options=("${@:3}")
runs=${RUNS:-7}
piece=1000000000
if [ -n "$quick" ]; then gigabytes=1 runs=2 piece=20000000; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
file=$work/file

# Data without repetitions: an encrypted counter. Several processes write the data, because one
# would be slow.
for ((i = 0; i < gigabytes; ++i)); do
    { head -c $piece < <(openssl enc -aes-128-ctr -nosalt -pass "pass:$i" </dev/zero 2>/dev/null ||
        cat /dev/urandom) | dd of="$file" bs=1M oflag=seek_bytes seek=$((i * piece)) conv=notrunc \
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
digest="$heddle digest --json --quiet ${options[*]-}"
add "$device" "$digest" --device "$device"
add "$device, serial" "$digest" --device "$device" --serial
if [ "$device" != cpu:0 ]; then
    add "cpu:0" "$digest" --device cpu:0
    add "cpu:0, serial" "$digest" --device cpu:0 --serial
fi
if [ -n "${SWEEP:-}" ]; then
    for chunk in 1M 2M 4M 8M 16M 32M 64M; do
        for depth in 2 3 4 6 8; do
            add "$device, $depth x $chunk" \
                "$digest" --device "$device" --chunk $chunk --depth $depth
        done
    done
fi

# Patterns for the figures about streaming in the program's JSON.
streaming='"seconds": ([0-9.]+)'
busy='"reading": ([0-9.]+), "copying": ([0-9.]+), "hashing": ([0-9.]+)'
# Each line of a result has times in seconds: the whole process, the streaming, and how long each
# stage was busy.
for ((run = 0; run < runs; ++run)); do
    for i in "${!names[@]}"; do
        begin=$EPOCHREALTIME
        # shellcheck disable=SC2086 # words
        line=$(${command[${names[$i]}]} "$file")
        whole=$(awk "BEGIN { print $EPOCHREALTIME - $begin }")
        figures=$(sed -nE "s/.*$streaming.*$busy.*/\1 \2 \3 \4/p" <<<"$line")
        echo "$whole ${figures:-$whole 0 0 0}" >>"$work/$i"
        echo "${line#*sha256:}" | cut -c 1-64 >>"$work/digests"
    done
done
if [ "$(sort -u "$work/digests" | wc -l)" -ne 1 ]; then
    echo "WRONG: the digests differ" >&2
    exit 1
fi

median() { cut -d ' ' -f "$2" "$work/$1" | sort -g | sed -n "$(((runs + 1) / 2))p"; }
printf '%-24s %8s %8s %8s   %s\n' \
    "$bytes bytes" "whole s" "stream s" "GB/s" "busy s: reading copying hashing"
for i in "${!names[@]}"; do
    seconds=$(median "$i" 2)
    printf '%-24s %8.3f %8.3f %8.2f   %.3f %.3f %.3f\n' \
        "${names[$i]}" "$(median "$i" 1)" "$seconds" \
        "$(awk "BEGIN { print $bytes / $seconds / 1e9 }")" \
        "$(median "$i" 3)" "$(median "$i" 4)" "$(median "$i" 5)"
done

# Prints a row in GB/s that compares two programs. column: whole processes, or the streaming alone.
row() { # name, device, column, way, other way or nothing, what that is
    local other=/dev/null peer=null
    if [ -n "$5" ]; then other=$work/$5 peer="\"$6\""; fi
    paste -d ' ' "$work/$4" "$other" | awk -v bytes="$bytes" -v column="$3" -v peer="$peer" \
        -v row="\"name\": \"$1\", \"device\": \"$2\"" '
        function at(values, n, p,   low) {  # the value below which a share p of n values lies
            p *= n - 1; low = int(p)
            if (low + 2 > n) return values[low + 1]
            return values[low + 1] + (values[low + 2] - values[low + 1]) * (p - low)
        }
        function sorted(values, n,   i, k, v) {
            for (i = 2; i <= n; ++i) {
                v = values[i]
                for (k = i - 1; k >= 1 && values[k] > v; --k) values[k + 1] = values[k]
                values[k + 1] = v
            }
        }
        {
            ours[NR] = bytes / $column / 1e9
            if (peer != "null") {
                theirs[NR] = bytes / $(5 + column) / 1e9
                ratios[NR] = ours[NR] / theirs[NR]
            }
        }
        END {
            sorted(ours, NR); sorted(theirs, NR); sorted(ratios, NR)
            printf "{%s, \"heddle\": %.6g, ", row, at(ours, NR, 0.5)
            if (peer != "null") {
                printf "\"raw\": %.6g, \"unit\": \"GB/s\", ", at(theirs, NR, 0.5)
                printf "\"ratio\": %.6g, \"ratio_p10\": %.6g, \"ratio_p90\": %.6g, ",
                    at(ratios, NR, 0.5), at(ratios, NR, 0.1), at(ratios, NR, 0.9)
            } else {
                printf "\"raw\": null, \"unit\": \"GB/s\", "
                printf "\"ratio\": null, \"ratio_p10\": null, \"ratio_p90\": null, "
            }
            printf "\"peer\": %s}\n", peer
        }'
}
if [ -n "$json" ]; then
    fsverity=
    if [ "${names[0]}" = "fsverity digest" ]; then fsverity=0; fi
    for i in "${!names[@]}"; do
        name=${names[$i]}
        on=${name%%,*}
        case $name in
            "fsverity digest" | *", serial") continue ;;
            *" x "*) row "heddle digest, streaming, $name" "$on" 2 "$i" "" "" ;;
            *)
                row "heddle digest, whole process" "$on" 1 "$i" "$fsverity" "fsverity digest"
                row "heddle digest, streaming" "$on" 2 "$i" $((i + 1)) "heddle digest --serial"
                ;;
        esac
    done | { echo "["; sed 's/^/  /; $!s/$/,/'; echo "]"; } >"$json"
fi
