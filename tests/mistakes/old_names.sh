# Compiles a file of deprecated names. It must compile; with -Werror=deprecated-declarations it must
# fail, with the expected message for each name.
# usage: old_names.sh COMPILER INCLUDE_DIRECTORY FILE
set -euo pipefail
"$1" -std=c++20 -fsyntax-only -Wno-deprecated-declarations -I"$2" "$3"
bash "$(dirname "$0")/check.sh" "$1" "$2" "$3" -Werror=deprecated-declarations
