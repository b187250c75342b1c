// Memory by address alone (docs/adr/0070).
#include <heddle/memory/detail/raw_memory.hpp>

#include <bit>

#include <heddle/memory/array.hpp>

#include "core/base/errors.hpp"
#include "core/base/report.hpp"
#include "core/memory/block_index.hpp"
#include "core/memory/users.hpp"

namespace heddle::detail {

namespace {

void check_alignment(std::size_t alignment, const SourceLocation& where) {
    constexpr std::size_t most = 256;  // the alignment of every pool's memory
    if (!std::has_single_bit(alignment) || alignment > most)
        usage_error({"allocate", where},
                    "an alignment of {} bytes is not supported: pass a power of two up to {}",
                    alignment, most);
}

/// Allocates memory that find_raw_block() finds.
Block& allocate_block(StreamRef stream, std::size_t bytes, const SourceLocation& where) {
    Block& block = allocate(stream, bytes, 1, "allocate", where);
    try {
        mark_raw(block);
    } catch (...) {
        release(block);
        throw;
    }
    return block;
}

Block& block_at(void* data, const SourceLocation& where) {
    Block* const block = find_raw_block(data);
    if (block == nullptr || block->data != data)
        usage_error({"deallocate", where},
                    "no memory of heddle begins at this address: pass an address that allocate() "
                    "returned, and pass it only once");
    return *block;
}

}  // namespace

void* allocate_raw(StreamRef stream, std::size_t bytes, std::size_t alignment, Where where) {
    check_alignment(alignment, where);
    if (bytes == 0) return nullptr;
    Block& block = allocate_block(stream, bytes, where);
    // The allocation is not a use to wait for: all users of the address are ordered after it. If
    // `stream` is a short-lived wrapper, counting it as a user would leave a second stream among
    // the users. The memory might then no longer be freed in the order of a single stream. In a
    // recording, the user is kept, because the recording tracks the memory and its users.
    if (!record_of(stream).has(stream_flag::recording)) forget_users(block);
    return block.data;
}

void* allocate_raw(Device device, std::size_t bytes, std::size_t alignment, Where where) {
    check_alignment(alignment, where);
    if (bytes == 0) return nullptr;
    const Stream stream(device, {}, where);
    Block& block = allocate_block(stream, bytes, where);
    try {
        stream.synchronize(where);
    } catch (...) {
        release(block);
        throw;
    }
    forget_users(block);
    return block.data;
}

void deallocate_raw(StreamRef stream, void* data, Where where) noexcept try {
    if (data == nullptr) return;
    Block& block = block_at(data, where);
    declare_use(block, stream, where);
    release(block);
} catch (...) {
    report(std::current_exception());  // the memory stays allocated, because it may be in use
}

void deallocate_raw(void* data, Where where) noexcept try {
    if (data != nullptr) release(block_at(data, where));
} catch (...) {
    report(std::current_exception());
}

}  // namespace heddle::detail
