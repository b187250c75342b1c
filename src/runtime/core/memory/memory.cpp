// Blocks: allocates and frees them, and waits for their users.
#include <algorithm>
#include <functional>
#include <span>
#include <string_view>

#include <heddle/memory/array.hpp>
#include <heddle/memory/interprocess.hpp>
#include <heddle/memory/make_array.hpp>
#include <heddle/memory/to_host.hpp>
#include <heddle/memory/view_2d.hpp>
#include <heddle/operation/observer.hpp>

#include "core/base/errors.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/failure/told.hpp"
#include "core/memory/block_records.hpp"
#include "core/memory/ends.hpp"
#include "core/memory/foreign_owners.hpp"
#include "core/memory/kept_memory.hpp"
#include "core/memory/memory.hpp"
#include "core/memory/users.hpp"
#include "core/operation/host_access.hpp"
#include "core/operation/imports.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/order.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/usable.hpp"
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail {

namespace {

/// Blocks that could not be freed, because freeing itself needs memory. Linked by next_kept.
constinit std::atomic<Block*> unfreed{nullptr};

std::size_t checked_bytes(std::size_t count, std::size_t element, const char* call,
                          const SourceLocation& where) {
    refuse_negative(count, call, where);
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, element, &bytes))
        coded_error(ErrorCode::out_of_memory, {call, where},
                    "{} elements of {} bytes are more than can be addressed: pass fewer elements",
                    count, element);
    return bytes;
}

/// Reports an allocation or a free. `stream` is null for host memory and shared memory. If a
/// capture allocates memory, `for_graph` is true, because the launches of its graph use it.
void notify_memory(OpKind kind, StreamState* stream, Block& block, const SourceLocation& where,
                   bool for_graph = false, bool from_own_cache = false) noexcept {
    const OpAccess access = access_of({block.data, block.bytes}, &block, AccessMode::write);
    const OpInfo op{.kind = kind,
                    .from_own_cache = from_own_cache,
                    .name = kind == OpKind::allocate ? "allocate" : "free",
                    .device = block.device,
                    .bytes = block.bytes,
                    .accesses = {&access, 1},
                    .where = where};
    if (stream != nullptr) notify_on(*stream, op, for_graph);
    else notify(op);
}

OpAccess all_of(const Block& block) noexcept {
    return access_of({block.data, block.bytes}, &block, AccessMode::read);
}

/// Reports that the stream is ordered after all users of the memory. This includes users that have
/// ended, for which no wait was reported. `stream` is null for the host. notify_after_others()
/// explains `first`.
void notify_after_users(StreamRecord* stream, const OpAccess& memory, WaitReason reason,
                        const SourceLocation& where, StreamRecord* first = nullptr) noexcept {
    const OpInfo op{.kind = OpKind::wait_for_users,
                    .reason = reason,
                    .name = "wait for the memory's users",
                    .other = first != nullptr ? Access::stream(*first) : StreamRef{},
                    .accesses = {&memory, 1},
                    .where = where};
    if (stream != nullptr) notify_on(*stream, op);
    else notify(op);
}

/// Reports memory from a backend's own allocator. If the memory was used before, also reports that
/// the host is ordered after all uses by its former owners.
void notify_allocated(Block& block, bool is_reused, const SourceLocation& where) noexcept {
    const OpAccess former{{block.data, block.bytes}};
    if (is_reused) notify_after_users(nullptr, former, WaitReason::free_memory, where);
    notify_memory(OpKind::allocate, nullptr, block, where, false, is_reused);
}

void open_device(Block& block, Device device, MemoryOrigin origin) noexcept {
    block.device = device;
    block.kind = MemoryKind::device;
    block.origin = origin;
    block.owners.store(1, std::memory_order_relaxed);
    block.alive.store(true, std::memory_order_release);
}

}  // namespace

Backend& pinned_backend() {
    return cuda_backend().device_count() > 0 ? cuda_backend() : cpu_backend();
}

Block& allocate(StreamRef ref, std::size_t count, std::size_t element, const char* call,
                Where where) try {
    const CallMark mark(call, where);
    StreamRecord& stream = record_of(ref);
    check_usable(stream, call, where);
    const std::size_t bytes = checked_bytes(count, element, call, where);
    const bool recorded = stream.has(stream_flag::recording);
    if (recorded && bytes != 0)
        if (Block* freed = take_freed(stream, bytes)) {
            if (is_observed()) notify_memory(OpKind::allocate, &stream, *freed, where, true);
            return *freed;
        }
    Block& block = take_block();
    StreamRecord& on = recorded ? allocating_stream(stream, where) : stream;
    const std::uint64_t submitted = on.submissions.load(std::memory_order_relaxed);
    try {
        ArrayMemory memory{nullptr, nullptr};
        if (recorded && bytes != 0) memory.data = on.backend->allocate(on, bytes, where);
        else if (bytes != 0) memory = allocate_memory(on, bytes, where);
        set_memory(block, memory.data, bytes);
        block.pooled = memory.pooled;
    } catch (...) {
        give_block(block);
        throw;
    }
    block.device = stream.device;
    block.kind = MemoryKind::device;
    block.owners.store(1, std::memory_order_relaxed);
    block.users[0].store(on.key.load(std::memory_order_relaxed), std::memory_order_relaxed);
    block.alive.store(true, std::memory_order_release);
    if (recorded) {
        try {
            if (&on != &stream && on.submissions.load(std::memory_order_relaxed) != submitted)
                order_after_allocation(stream, on, where);
            own_by_capture(stream, block, where);
            // Native work on `stream` may use the memory without adding a user.
            note_use(&block, stream, false);
        } catch (...) {
            release(block);
            throw;
        }
    }
    if (is_observed())
        notify_memory(OpKind::allocate, &stream, block, where, recorded && is_captured(stream));
    return block;
} catch (...) {
    rethrow_as_error(call, where, allocating_call);
}

Block& allocate_at_once(Device device, std::size_t bytes, Where where) try {
    const Stream stream(device, {}, where);
    StreamRecord& record = record_of(stream);
    Block& block = take_block();
    try {
        set_memory(block, bytes != 0 ? record.backend->allocate(record, bytes, where) : nullptr,
                   bytes);
    } catch (...) {
        give_block(block);
        throw;
    }
    open_device(block, device, MemoryOrigin::pool);
    if (is_observed()) notify_memory(OpKind::allocate, nullptr, block, where);
    return block;
} catch (...) {
    rethrow_as_error(allocating_call, where);
}

Block& allocate_shared(Device device, std::size_t count, std::size_t element,
                       const SourceLocation& where) try {
    const std::size_t bytes = checked_bytes(count, element, "shareable", where);
    Block& block = take_block();
    Allocated made{nullptr};
    try {
        if (bytes != 0)
            made = backend_of(device.kind()).allocate_shared(device.index(), bytes, where);
        set_memory(block, made.data, bytes);
    } catch (...) {
        give_block(block);
        throw;
    }
    open_device(block, device, MemoryOrigin::shared);
    if (is_observed()) notify_allocated(block, made.is_reused, where);
    return block;
} catch (...) {
    rethrow_as_error("shareable", where);
}

Block& import_shared(Device device, const ArrayHandle& handle, const SourceLocation& where) try {
    Block& block = take_block();
    try {
        void* const base = backend_of(device.kind()).import_shared(device.index(), handle, where);
        set_memory(block, static_cast<std::byte*>(base) + handle.offset, handle.bytes);
        block.offset = handle.offset;
    } catch (...) {
        give_block(block);
        throw;
    }
    open_device(block, device, MemoryOrigin::imported);
    const std::string_view name(reinterpret_cast<const char*>(handle.memory.data()),
                                handle.memory.size());
    note_import({.key = block.serial.load(),
                 .process = process_of(handle.process),
                 .where = where,
                 .memory = std::hash<std::string_view>{}(name)});
    if (is_observed()) notify_memory(OpKind::allocate, nullptr, block, where);
    return block;
} catch (...) {
    rethrow_as_error("import_array", where);
}

void notify_adopted(Block& block, const SourceLocation& where) noexcept {
    if (is_observed()) notify_memory(OpKind::allocate, nullptr, block, where);
}

Block& allocate_host(MemoryKind kind, std::size_t count, std::size_t element, Where where) try {
    const CallMark mark(kind == MemoryKind::pinned ? "pinned" : "pageable", where);
    const std::size_t bytes =
        checked_bytes(count, element, kind == MemoryKind::pinned ? "pinned" : "pageable", where);
    Block& block = take_block();
    Allocated made{nullptr};
    try {
        if (bytes != 0)
            made = (kind == MemoryKind::pinned ? pinned_backend() : cpu_backend())
                       .allocate_pinned(bytes, where);
        set_memory(block, made.data, bytes);
    } catch (...) {
        give_block(block);
        throw;
    }
    block.device = Access::device(DeviceKind::cpu, 0);
    block.kind = kind;
    block.owners.store(1, std::memory_order_relaxed);
    block.alive.store(true, std::memory_order_release);
    if (is_observed()) notify_allocated(block, made.is_reused, where);
    return block;
} catch (...) {
    rethrow_as_error(kind == MemoryKind::pinned ? "pinned" : "pageable", where);
}

void release(Block& block) noexcept {
    if (block.origin >= MemoryOrigin::adopted) {  // or lent
        if (drop_foreign_owner(block)) free_block(block, nullptr);
        return;
    }
    if (block.owners.load(std::memory_order_acquire) != 1) {
        // Must precede removing this owner: without it, another owner could free the block at any
        // time.
        offer_to_capture(block);
        if (block.owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    }
    block.alive.store(false, std::memory_order_release);
    free_block(block, nullptr);
}

namespace {

/// Frees the memory of a block. If memory for this is exhausted, returns false and changes nothing.
bool free_memory(const Block& block, std::span<const StreamUse> users) noexcept {
    if (block.origin == MemoryOrigin::adopted) return end_memory(block, users);
    if (block.data == nullptr || block.origin == MemoryOrigin::lent) return true;
    Backend& backend = backend_of(block.device.kind());
    if (block.origin == MemoryOrigin::imported) forget_import(block.serial.load());
    if (block.origin != MemoryOrigin::pool)
        return backend.free_shared({static_cast<std::byte*>(block.data) - block.offset, block.bytes,
                                    block.device.index(), block.origin == MemoryOrigin::imported},
                                   users.data(), users.size());
    if (block.pooled != nullptr) return free_memory(*block.pooled, block.device, users);
    if (block.kind == MemoryKind::device)
        return backend.free(block.data, block.bytes, block.device.index(), users.data(),
                            users.size());
    return (block.kind == MemoryKind::pinned ? pinned_backend() : cpu_backend())
        .free_pinned(block.data, block.bytes, users.data(), users.size());
}

void free_or_keep(Block& block, std::span<const StreamUse> users) noexcept {
    if (free_memory(block, users)) return give_block(block);
    block.next_kept = unfreed.load(std::memory_order_relaxed);
    while (!unfreed.compare_exchange_weak(block.next_kept, &block, std::memory_order_release,
                                          std::memory_order_relaxed)) {}
}

}  // namespace

void free_unfreed_blocks() noexcept {
    if (unfreed.load(std::memory_order_relaxed) == nullptr) [[likely]]
        return;
    Block* next = unfreed.exchange(nullptr, std::memory_order_acquire);
    while (next != nullptr) {
        Block& block = *std::exchange(next, next->next_kept);
        StreamUse few[Block::inline_users];
        free_or_keep(block, final_users(block, few));
    }
}

void free_block(Block& block, const Recorder* sent) noexcept {
    free_unfreed_blocks();
    StreamUse few[Block::inline_users];
    const std::span<const StreamUse> users = final_users(block, few);
    if (block.origin == MemoryOrigin::adopted) note_released(block, users);
    if (keep_for_batch(block, users, sent)) {
        block.owners.store(1, std::memory_order_relaxed);  // the batch is now the owner
        return;
    }
    if (is_observed())
        notify_memory(OpKind::free, users.empty() ? nullptr : users.front().stream, block, {});
    free_or_keep(block, users);
}

void declare_use(Block& block, StreamRef stream, Where where) try {
    check_usable(record_of(stream), "used_on", where);
    note_use(&block, Access::state(stream));
    note_recorded_use(record_of(stream), block);
    if (is_observed()) {
        const OpAccess access = all_of(block);
        notify_on(
            Access::state(stream),
            {.kind = OpKind::used_on, .name = "used_on", .accesses = {&access, 1}, .where = where});
    }
} catch (...) {
    rethrow_as_error("used_on", where);
}

void wait_for_users(StreamRecord& stream, const Block& block, WaitReason reason,
                    const SourceLocation& where) {
    const Users users(block);
    for (const StreamUse& use : users.all()) order_after_use(stream, use, where, reason);
    if (is_observed()) notify_after_users(&stream, all_of(block), reason, where);
    take_over(stream, failure_of(block), where);
}

void notify_after_others(StreamRecord* stream, StreamRecord& first, const Block& block,
                         const SourceLocation& where) noexcept {
    notify_after_users(stream, all_of(block), WaitReason::data, where, &first);
}

void notify_order_of(StreamRecord& stream, StreamRecord& first,
                     const SourceLocation& where) noexcept {
    notify_on(stream, {.kind = OpKind::wait_for_users,
                       .reason = WaitReason::data,
                       .name = "DataOrder",
                       .other = Access::stream(first),
                       .where = where});
}

void take_over(StreamRecord& stream, const Failure& failure, const SourceLocation& where) {
    if (failure == nullptr) [[likely]]
        return;
    const CompletionRef failed = make_completion();
    failed->complete(failure);
    stream.backend->wait_completion(stream, failed, where);
}

void throw_failure_of(const Block& block) {
    if (const Failure failure = failure_of(block)) throw_failure(failure);
}

bool used_on_cpu(const Block* block) {
    if (block == nullptr) return false;
    const Users users(*block);
    return std::ranges::any_of(users.all(),
                               [](const StreamUse& use) { return use.stream->device.is_cpu(); });
}

void block_until_unused(const Block* block, const SourceLocation& where) {
    if (block == nullptr) return;
    const Users users(*block);
    for (const StreamUse& use : users.all()) {
        if (use.stream->has(stream_flag::forked)) continue;
        send_batch_of(*use.stream, where);
        Backend& backend = *use.stream->backend;
        if (thread_states.in_host_function) {
            const CompletionRef done = make_completion();
            backend.signal_use(use, done);
            if (!done->is_done()) check_may_wait("copy (of pageable memory in use)", where);
            else done->see();
        } else if (!use.is_same()) {
            backend.synchronize_use(use, where);  // no HostWait: another stream has the record
        } else {
            HostWait wait("wait for the memory's users", use, where, WaitReason::copy);
            backend.synchronize_use(use, where);
            wait.end();
        }
    }
    if (is_observed()) notify_after_users(nullptr, all_of(*block), WaitReason::copy, where);
}

bool peer_reachable(const Block& block, const StreamState& stream) noexcept {
    if (stream.device.is_cpu()) return block.kind != MemoryKind::device || block.device.is_cpu();
    if (block.kind == MemoryKind::pinned) return true;
    if (block.kind == MemoryKind::pageable || block.device.kind() != stream.device.kind())
        return false;
    // Imported memory is mapped for one device. CUDA does not document whether other devices can
    // access it.
    if (block.origin == MemoryOrigin::imported) return block.device == stream.device;
    if (block.origin != MemoryOrigin::pool)
        return stream.backend->has_access(AccessKind::peer, stream.device.index(),
                                          block.device.index());
    return stream.backend->peer_reachable(stream.device.index(), block.device.index());
}

bool host_reaches(const Block* block) noexcept {
    return block == nullptr || block->kind != MemoryKind::device || !block->device.is_cuda();
}

}  // namespace heddle::detail
