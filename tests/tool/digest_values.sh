#!/usr/bin/env bash
# The digests must equal those of fsverity, for all sizes of files and all chunk sizes.
. "$(dirname "$0")/common.bash"

# Output of fsverity 1.5 for these sizes, so that the test does not need that program.
declare -A golden=(
    [0]=sha256:3d248ca542a24fc62d1c43b916eae5016878e2533c88238480b26128a1f1af95
    [1]=sha256:562a2033a6f212d5b21c2257fea4a3d19f8df6a3a4d670a8f8dd5bf89cf98b40
    [4095]=sha256:4be1ab18c34c376e18ae3135d481e6d9813e4d892d7f7fc2ca37c85023dd589d
    [4096]=sha256:58f17abdc2f0eb12f0dffe7f468742e5e358f9fdd208a928254a8945a408052c
    [4097]=sha256:a09061f9b47b90712292bddc2a0a0ccb524bef36efac0ca8f697d2e971045f12
    [8192]=sha256:58cd6f0450cfee0bb8d0a0b666e85d2808677536bc1788fd4c43cf693a23325c
    [524287]=sha256:5e7be79dbfbcb936f5ade38a1422d92abde651c73d96317db4672f75dd03848d
    [524288]=sha256:7b115be9194352a254fcd63e6270e384c298b3703e90d6c28ab0664ee61a5bdd
    [524289]=sha256:64b57ac3c4c261962d7633720abd2be9d31d7ac2360f535c4e39c040e3cb3058
    [532487]=sha256:917362e8987f8a0858d5c858f478b658f5b47561b486a1e2849dcec64a95e469
    [67108864]=sha256:891a091dd8ee5b0440a08ce323ee9c90cfa68a5355b5155bfdceec4f828905f8
    [67108865]=sha256:afb9f0d3bfc698b166947c3b6de83e947151a599114030dd73931df92c5762db
    [sparse]=sha256:f19f70ade04a78ebc3b27ea4279dfd9f2fda01fa941e8bfc6cedf518a8d5f223
)
if [ -n "${HEDDLE_TEST_SANITIZED:-}" ]; then   # large files would take minutes
    unset 'golden[sparse]' 'golden[67108864]' 'golden[67108865]'
fi

check() {   # check FILE OPTION...: compares the digest with the reference
    local file=$1
    [ -n "${golden[$file]:-}" ] || return 0
    shift
    run digest --quiet "$@" "$file"
    same "digest $* $file: status" "$status" 0
    same "digest $* $file" "$out" "${golden[$file]} $file"
    same "digest $* $file: says nothing else" "$err" ""
}

for size in 0 1 4095 4096 4097 8192 \
    $((128 * 4096 - 1)) $((128 * 4096)) $((128 * 4096 + 1)) $((130 * 4096 + 7)) \
    $((128 * 128 * 4096)) $((128 * 128 * 4096 + 1)); do
    pattern $size >$size
done
# Longer than the 512 MiB whose digests a level of the tree keeps. Nearly all of it is a hole.
truncate -s 640M sparse
pattern 100000 | dd of=sparse bs=4096 seek=131060 conv=notrunc status=none
pattern 5000 | dd of=sparse bs=1 seek=$((600 << 20)) conv=notrunc status=none

if command -v fsverity >/dev/null; then
    for file in "${!golden[@]}"; do
        same "golden value of $file" "${golden[$file]} $file" "$(fsverity digest "$file")"
    done
fi
for file in "${!golden[@]}"; do
    check "$file"
    check "$file" --chunk 1020K --depth 64   # 255 blocks: chunks end between digests of one block
done
for file in 0 1 4095 4096 4097 8192 524287 524288 524289 532487 67108865; do
    check "$file" --serial
    check "$file" --chunk 512K --depth 2
    check "$file" --chunk 64M --depth 3
done
for file in 0 1 4096 4097 8192 524287 524288 524289 532487; do
    check "$file" --chunk 4096
    check "$file" --chunk 12K --depth 5 --serial
done
check sparse --chunk 99996K --depth 2

run digest --quiet 1 4097 0 4097
same "several files: status" "$status" 0
same "several files, in order" "$out" "${golden[1]} 1
${golden[4097]} 4097
${golden[0]} 0
${golden[4097]} 4097"

# Files that the kernel generates when they are read. They do not report their real sizes.
for file in /proc/version /proc/filesystems /sys/devices/system/cpu/possible \
    /sys/kernel/mm/transparent_hugepage/enabled; do
    [ -r $file ] || continue
    cat $file >copy
    [ -s copy ] || fail "$file is empty"
    run digest --quiet copy
    wanted="${out% copy} $file"
    run digest --quiet $file
    same "digest $file: status" "$status" 0
    same "digest $file" "$out" "$wanted"
done

# A name with special characters.
cp -- 4097 $'-n "a\\b" \xff'
run digest --quiet -- $'-n "a\\b" \xff'
same "a strange name" "$out" "${golden[4097]} "$'-n "a\\b" \xff'
