# Compiles mistakes.cpp, which must fail, and looks for what each mistake has to be answered with.
# usage: check.sh COMPILER INCLUDE_DIRECTORY
set -euo pipefail
export LC_ALL=C
file=$(dirname "$0")/mistakes.cpp
limit=-fmax-errors=0
if [[ $("$1" --version) == *clang* ]]; then limit=-ferror-limit=0; fi
if output=$("$1" -std=c++20 -fsyntax-only "$limit" -I"$2" "$file" 2>&1); then
    echo "compiles: $file"
    exit 1
fi
missing=0
while IFS=: read -r line text; do
    says=${text##*// says: }
    if ! grep -qF "mistakes.cpp:$line:" <<<"$output" || ! grep -qF -- "$says" <<<"$output"; then
        echo "mistakes.cpp:$line: no error, or none that says: $says"
        missing=1
    fi
done < <(grep -n '// says: ' "$file")
if [ "$missing" -ne 0 ]; then echo "$output"; fi
exit "$missing"
