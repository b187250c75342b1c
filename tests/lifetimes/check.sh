# Compiles a file with clang. clang must warn about each line marked `// warns`, and about no other
# line. Without clang, prints the reason and exits with status 77.
# usage: check.sh INCLUDE_DIRECTORY FILE [CLANG...]
set -euo pipefail
export LC_ALL=C
include=$1 file=$2
shift 2
[ $# -ne 0 ] || set -- clang++ clang++-19
marked=$(grep -n '// warns$' "$file" | cut -d: -f1)
tried=0
for clang in "$@"; do
    command -v "$clang" > /dev/null || continue
    "$clang" --version | grep -q clang || continue
    tried=1
    if ! output=$("$clang" -std=c++20 -fsyntax-only -Wall -Wextra -I"$include" "$file" 2>&1); then
        echo "$clang: $file does not compile"$'\n'"$output"
        exit 1
    fi
    warned=$(grep -oP "^\Q$file\E:\K\d+(?=:\d+: warning)" <<< "$output" | sort -nu || true)
    if [ "$warned" != "$marked" ]; then
        echo "$clang: lines that differ, < where it has to warn and > where it warns:"
        diff <(echo "$marked") <(echo "$warned") || true
        echo "$output"
        exit 1
    fi
done
if [ "$tried" = 0 ]; then
    echo "skipped: there is no clang here"
    exit 77
fi
