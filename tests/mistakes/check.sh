# Compiles a file of mistakes. This must fail, with the expected error for each mistake.
# usage: check.sh COMPILER INCLUDE_DIRECTORY FILE [OPTION]
#
# A comment `// says: TEXT` on a line means: this line's error must contain TEXT before the
# compiler's notes. (clang explains in its first note why a function is deleted.) `// notes: TEXT`
# means: the error or its notes must contain TEXT. The file's static assertions must hold.
set -euo pipefail
export LC_ALL=C
case $("$1" --version) in
*"Cuda compiler"*) options=(-x cu -c -o /dev/null --extended-lambda -Xcudafe --error_limit=1000) ;;
*clang*) options=(-fsyntax-only -ferror-limit=0) ;;
*) options=(-fsyntax-only -fmax-errors=0) ;;
esac
if output=$("$1" -std=c++20 "${options[@]}" ${4:+"$4"} -I"$2" "$3" 2>&1); then
    echo "compiles: $3"
    exit 1
fi
# An error extends to the next one. g++ prints the places of instantiations before the error.
report=$(awk -v name="${3##*/}" '
    function end_of_error() {
        if (has_error) { ++errors; head_of[errors] = head; all_of[errors] = all }
        else all_of[errors] = all_of[errors] all  # further notes
        head = all = ""; has_error = notes = in_head = 0
    }
    function is_of(text, line) {
        return index(text, name ":" line ":") || index(text, name "(" line ")") ||
            text ~ ("at line " line "( of |\n)")
    }
    FNR == NR {
        if (match($0, /\/\/ (says|notes): /)) {
            wanted[FNR] = substr($0, RSTART + RLENGTH)
            anywhere[FNR] = substr($0, RSTART, RLENGTH) ~ /notes/
        }
        next
    }
    { sub(/\/\/ (says|notes): .*/, "") }  # compilers quote lines of the file
    /^In file included from|^ +from / { next }
    /: (fatal )?error[ :]/ && (has_error || notes) { end_of_error() }
    /: In (instantiation|substitution|function|member)/ && (has_error || notes) { end_of_error() }
    /: (fatal )?error[ :]/ { has_error = 1 }
    $0 ~ "^[^ :(]*" name "[:(][^ ]* error.*static.assert" { print "does not hold: " $0 }
    / note: / { in_head = ++notes == 1 && /marked deleted|explicitly deleted/ }
    { all = all $0 "\n" }
    notes == 0 || in_head { head = head $0 "\n" }
    END {
        end_of_error()
        for (line in wanted) {
            found = 0
            for (i = 1; i <= errors && !found; ++i)
                found = is_of(all_of[i], line) &&
                    index(anywhere[line] ? all_of[i] : head_of[i], wanted[line])
            if (!found) print name ":" line ": no error that says: " wanted[line]
        }
    }' "$3" - <<<"$output")
if [ -n "$report" ]; then
    echo "$output"
    sort -t: -k2n <<<"$report"
    exit 1
fi
