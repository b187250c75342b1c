# Tests that the notices are installed, and the messages of an installed heddle for a project that
# requires too much or too little.
# usage: check_package.sh PREFIX WITH_CUDA DIRECTORY   (WITH_CUDA: 1 if heddle was built with CUDA)
set -euo pipefail
prefix=$1 with_cuda=$2 directory=$3
project=$(cd "$(dirname "$0")" && pwd)/find_package
failed=0

# expect NAME STATUS TEXT CMAKE_ARGUMENT...: configures the project. This must end with STATUS (0 or
# 1) and print TEXT. If TEXT begins with "!", the rest must not be printed.
expect() {
    local name=$1 wanted=$2 text=$3 status=0 printed
    shift 3
    cmake -S "$project" -B "$directory/$name" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" "$@" \
        >"$directory/$name.log" 2>&1 || status=1
    printed=$(tr -s ' \n' ' ' <"$directory/$name.log")
    [ "$status" -eq "$wanted" ] || { echo "$name: status $status"; failed=1; }
    case $text in
        !*) [[ $printed != *"${text#!}"* ]] || { echo "$name: says ${text#!}"; failed=1; } ;;
        *) [[ $printed == *"$text"* ]] || { echo "$name: does not say: $text"; failed=1; } ;;
    esac
}

if ! [ -s "$prefix/share/doc/heddle/THIRD_PARTY.md" ]; then
    echo "THIRD_PARTY.md is not installed"
    failed=1
fi
mkdir -p "$directory"
no_toolkit=-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON
expect no_build_type 0 "this project has no build type"
expect build_type 0 "!no build type" -DCMAKE_BUILD_TYPE=Debug
if [ "$with_cuda" -eq 1 ]; then
    expect no_toolkit 1 "the component CUDA needs a CUDA toolkit" \
        $no_toolkit -DCONSUMER_COMPONENTS=CUDA
    # A project in C++ alone compiles, links and runs without a CUDA toolkit.
    expect cxx_alone 0 "!CMake Warning" $no_toolkit -DCMAKE_BUILD_TYPE=Release
    cmake --build "$directory/cxx_alone"
    ctest --test-dir "$directory/cxx_alone" --output-on-failure --no-tests=error
else
    expect no_cuda 1 "the component CUDA needs a heddle that was built with CUDA" \
        -DCONSUMER_COMPONENTS=CUDA
fi
if [ "$failed" -ne 0 ]; then cat "$directory"/*.log; fi
exit "$failed"
