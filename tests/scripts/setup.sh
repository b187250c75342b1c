#!/usr/bin/env bash
# scripts/setup chooses a compiler and a CMake that are new enough, and refuses the others. $1 is
# the repository.
. "$(dirname "$0")/../tool/common.bash"
repository=$heddle
unset CXX CXXFLAGS

# A machine: its programs are in $dir/programs; $dir/archive/PACKAGE/ has a file `version` and the
# programs of a package. $dir/log has the packages that were installed.
mkdir tools
for name in awk basename bash cat chmod cp dirname env grep head mkdir rm sed sh sort; do
    ln -s "$(command -v "$name")" tools
done
export PATH=$dir/programs:$dir/tools dir

# program FILE LINE...: makes a program.
program() {
    local file=$1
    shift
    mkdir -p "$(dirname "$file")"
    printf '%s\n' '#!/bin/sh' "$@" >"$file"
    chmod +x "$file"
}
# gcc_at FILE MAJOR MINOR: a g++.
gcc_at() {
    program "$1" 'cat >/dev/null' "echo '#define __GNUC__ $2'" "echo '#define __GNUC_MINOR__ $3'"
}
# clang_at FILE MAJOR LIBSTDCXX LIBCXX: a clang++; $4 is the version of libc++ with -stdlib=libc++.
clang_at() {
    program "$1" 'cat >/dev/null' \
        "echo '#define __GNUC__ 4'; echo '#define __GNUC_MINOR__ 2'" \
        "echo '#define __clang_major__ $2'; echo '#define __clang_minor__ 0'" \
        "case \$* in *-stdlib=libc++*) echo '#define _LIBCPP_VERSION $4' ;;" \
        "*) echo '#define _GLIBCXX_RELEASE $3' ;; esac"
}
# package NAME VERSION: a package of the distribution.
package() {
    mkdir -p "archive/$1/programs"
    echo "$2" >"archive/$1/version"
}
# machine: a new machine with no compiler, no CMake and no packages.
machine() {
    rm -rf programs archive log repository
    mkdir -p programs archive repository/cmake repository/scripts
    cp "$repository/CMakeLists.txt" repository
    cp "$repository/cmake/Compiler.cmake" repository/cmake
    cp "$repository/scripts/setup" repository/scripts
    program programs/ninja
    program programs/id 'echo 0'
    program programs/apt-get 'for last; do
        [ ! -d "$dir/archive/$last" ] || echo "$last" >>"$dir/log"
        [ ! -d "$dir/archive/$last" ] || cp -r "$dir/archive/$last/programs/." "$dir/programs"
    done'
    # A name that is not a package is a pattern for apt-cache.
    program programs/apt-cache 'if [ -d "$dir/archive/$2" ]; then
        printf "%s:\n  Candidate: 4:%s-1ubuntu1\n" "$2" "$(cat "$dir/archive/$2/version")"
    else printf "%s-doc:\n  Candidate: 1:99.0\n%s-x:\n  Candidate: (none)\n" "$2" "$2"; fi'
    program programs/python3 'case $* in "-m venv "*)
        mkdir -p "$3/bin"
        printf "#!/bin/sh\ncase \$* in *cmake==*) exec cp %s %s ;; esac; exit 1\n" \
            "$dir/pypi" "$3/bin/cmake" >"$3/bin/pip"
        chmod +x "$3/bin/pip" ;; esac'
}
# cmake_at FILE VERSION: a cmake.
cmake_at() { program "$1" "echo 'cmake version $2'"; }
cmake_at pypi 3.31.6

# sets PROGRAM...: runs heddle_setup. The output's last line is the choice.
sets() {
    heddle=in_setup run "$@"
    choice=${out##*$'\n'}
    installed=
    if [ -e log ]; then installed=$(sort log); fi
    installed=${installed//$'\n'/ }
}
in_setup() {
    (cd repository && . scripts/setup && set +u && heddle_setup "$@" &&
        echo "CXX=${CXX-} cmake=$(command -v cmake)")
}
# chooses NAME CXX CMAKE INSTALLED
chooses() {
    sets compiler cmake ninja
    same "$1: status" "$status" 0
    same "$1: choice" "$choice" "CXX=$2 cmake=$dir/$3"
    same "$1: installed" "$installed" "$4"
}
# refuses NAME PART...: fails, installs nothing, and prints the parts.
refuses() {
    local name=$1 part
    shift
    sets compiler cmake ninja
    same "$name: status" "$status" 1
    same "$name: installed" "$installed" ""
    for part in "$@"; do contains "$name: message" "$err" "$part"; done
}
from_pypi=repository/build/tools/cmake==3.31.6/bin/cmake

machine
gcc_at programs/c++ 12 2
cmake_at programs/cmake 3.25.1
chooses "new enough" "" programs/cmake ""
gcc_at programs/g++-13 13 1
chooses "another, too" "" programs/cmake ""

# Debian 12, without a compiler.
machine
package g++ 12.2.0
gcc_at archive/g++/programs/c++ 12 2
package cmake 3.25.1
cmake_at archive/cmake/programs/cmake 3.25.1
chooses "the distribution's own" "" programs/cmake "cmake g++"

# Ubuntu 22.04.
jammy() {
    machine
    package g++ 11.2.0
    package g++-11 11.4.0
    package g++-12 12.3.0
    gcc_at archive/g++/programs/c++ 11 4
    gcc_at archive/g++-12/programs/g++-12 12 3
    package cmake 3.22.1
}
jammy

would() { (cd repository && . scripts/setup && heddle_would_install compiler cmake ninja); }
same "would install" "$(would)" \
    "would install from PyPI, in build/tools: cmake==3.31.6
would install by apt-get: g++-12"
chooses "Ubuntu 22.04" g++-12 "$from_pypi" "g++-12"
rm log
chooses "Ubuntu 22.04, again" g++-12 "$from_pypi" ""
package libfmt-dev 8.1.1
sets compiler fmt
same "g++-12 alone finds headers" "$installed" ""
same "would install nothing" "$(would)" "would install nothing: all packages are there"
jammy
gcc_at programs/c++ 11 4
cmake_at programs/cmake 3.22.1
chooses "Ubuntu 22.04 with its defaults" g++-12 "$from_pypi" "g++-12"
jammy
gcc_at programs/c++ 11 4
clang_at programs/clang++-15 15 11 0
chooses "an installed clang" clang++-15 "$from_pypi" ""
CXX="ccache clang++-15"
export CXX
program programs/ccache 'exec "$@"'
chooses "CXX with arguments" "ccache clang++-15" "$from_pypi" ""
export CXX=c++
refuses "CXX is too old" \
    "CXX names a compiler that cannot be used: c++ is g++ 11.4, and 12 or newer"
export CXX=nothing
refuses "CXX is nothing" "nothing is not a C++ compiler that works"
unset CXX
jammy
rm -r archive/g++-12
package cmake 3.28.3
gcc_at programs/c++ 11 4
refuses "no universe" "c++ is g++ 11.4, and 12 or newer is needed" "apt-get knows here is 11.2.0" \
    "g++-12, in the part"

# Debian 11: its clang uses libstdc++ 10.
machine
package g++ 10.2.1
package cmake 3.18.4
gcc_at programs/c++ 10 2
clang_at programs/clang++ 19 10 190107
refuses "Debian 11" "c++ is g++ 10.2, and 12 or newer is needed" "heddle needs g++ 12 or newer" \
    "clang++ is clang 19.0 with libstdc++ 10, and libstdc++ 11 or newer is needed"
export CXX=clang++
refuses "Debian 11, CXX" "clang 19.0 with libstdc++ 10, and libstdc++ 11 or newer is needed"
export CXXFLAGS=-stdlib=libc++
chooses "libc++" clang++ "$from_pypi" ""
clang_at programs/clang++ 18 10 180000
refuses "an old libc++" "clang 18.0 with libc++ 18, and libc++ 19 or newer is needed"
clang_at programs/clang++ 13 12 0
unset CXXFLAGS
refuses "an old clang" "clang++ is clang 13.0, and 14 or newer is needed"
unset CXX

# No CMake that is new enough.
jammy
cmake_at programs/cmake 3.22.1
program programs/python3 'exit 1'
sets compiler cmake ninja
same "no PyPI: status" "$status" 1
contains "no PyPI: message" "$err" "CMake 3.25 or newer is needed (this is cmake version 3.22.1)"
machine
rm programs/apt-get programs/apt-cache
gcc_at programs/g++ 13 1
chooses "no apt-get" g++ "$from_pypi" ""
