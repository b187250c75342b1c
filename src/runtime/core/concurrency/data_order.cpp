// Choosing and ordering streams by data.
#include "core/concurrency/data_order.hpp"

#include <algorithm>

#include "core/base/errors.hpp"
#include "core/base/report.hpp"
#include "core/failure/told.hpp"
#include "core/memory/block_index.hpp"
#include "core/memory/memory.hpp"
#include "core/memory/users.hpp"
#include "core/operation/imports.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/order.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/registry.hpp"
#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle::detail {

namespace {

// Measured: docs/adr/0050.
constexpr std::size_t most_streams = 32;
constexpr std::size_t best_on_cpu = 2, best_on_cuda = 8;
/// The load that one wait adds to a stream when a stream is chosen, in operations.
constexpr std::uint64_t wait_cost = 2;
/// The maximum difference between the loads of two streams, in operations. A limit is needed so
/// that old work does not count.
constexpr std::uint64_t most_behind = 8;

std::size_t stream_count(Device device, const DataOrderOptions& options,
                         const SourceLocation& where) {
    if (options.streams < 0 || options.streams > static_cast<int>(most_streams))
        usage_error({"DataOrder", where, device},
                    "the number of streams is {}: set .streams to 1 to {}, or to 0 for the default",
                    options.streams, most_streams);
    if (options.spread == DataSpread::never) return 1;
    if (options.streams != 0) return static_cast<std::size_t>(options.streams);
    const int at_once = backend_of(device.kind()).concurrent_queues(device.index());
    return std::min(device.is_cpu() ? best_on_cpu : best_on_cuda,
                    static_cast<std::size_t>(std::max(at_once, 1)));
}

/// Throws if a capture or batch of this thread records the thread's current stream. Captures and
/// batches of other threads have no effect.
void check_not_recorded(StreamRecord& current, const char* call, const SourceLocation& where) {
    if (is_recorded_here(current))
        usage_error({call, where, current},
                    "work that is ordered by data cannot be part of this thread's capture or "
                    "batch: construct the DataOrder before the capture or batch begins, and "
                    "join or destroy it outside the capture or batch");
    if (current.has(stream_flag::unseen | stream_flag::capturing) &&
        current.backend->capture_id(current) != 0)
        usage_error({call, where, current},
                    "the current stream is being captured {}, and work that is ordered by data "
                    "cannot be part of that capture: use another current stream, or wait until the "
                    "capture ends",
                    current.has(stream_flag::recording)
                        ? "by another thread, natively, because its handle was passed outside "
                          "heddle"
                        : "outside heddle");
}

bool is_own_stream(const void* streams, std::uint64_t key) {
    return static_cast<const DataStreams*>(streams)->find(key) != nullptr;
}

StreamUse use_of_stream(StreamRecord& stream) noexcept {
    return {&stream, stream.id.load(std::memory_order_relaxed)};
}

/// Returns `device`. Throws UsageError in a host function, before the DataOrder is constructed.
Device checked(Device device, const SourceLocation& where) {
    if (thread_states.in_host_function)
        usage_error({"DataOrder", where, device},
                    "a DataOrder cannot be constructed in a host function, because it may "
                    "have to wait: construct it on the thread that enqueues the work");
    return device;
}
}  // namespace

OrderState::OrderState(Device device, const DataOrderOptions& options, const SourceLocation& where)
    : device_(checked(device, where)),
      streams_(device, stream_count(device, options, where), options, where),
      past_(streams_.count()) {
    newest_uses_.resize(streams_.count());
    uses_.reserve(16);
    needed_.reserve(streams_.count());
    StreamRecord& current = record_of(current_stream(device));
    check_not_recorded(current, "DataOrder", where);
    for (std::size_t i = 0; i < streams_.count(); ++i) {
        order_after_use(*streams_[i].stream, use_of_stream(current), where, WaitReason::fork);
        // Without this report, observers would count these streams as streams outside the
        // DataOrder, until tell_ended() reports them.
        if (is_observed()) notify_order_of(*streams_[i].stream, *streams_[0].stream, where);
    }
}

OrderState::~OrderState() {
    try {
        if (thread_ != &thread_states)
            usage_error({"~DataOrder", {}, device_},
                        "a DataOrder is destroyed on a different thread than it was "
                        "constructed on: destroy it on the thread that constructed it");
        join({});
    } catch (...) {
        report(std::current_exception());
    }
}

void OrderState::throw_not_usable(const char* call, const SourceLocation& where) const {
    if (is_in_task_ && thread_ == &thread_states)
        usage_error(
            {call, where, device_},
            "a task's function must not use the DataOrder: enqueue work on the stream that is "
            "passed to the function, and declare the memory with reads() and writes()");
    usage_error({call, where, device_}, "a DataOrder is used on another thread, or in a host "
                                        "function: construct one for each thread");
}

void OrderState::use(Block* block, const void* data, std::size_t bytes, bool writes) {
    if (data == nullptr || bytes == 0) return;
    bytes_ += bytes;
    if (block == nullptr) block = find_block(data);
    const std::size_t index = past_.find(block);
    add_use(index, writes);
    if (past_[index].is_special) [[unlikely]]
        look_at_special(index, writes);
}

void OrderState::look_at_special(std::size_t index, bool writes) {
    if (past_[index].is_new) begin_past(index);
    if (const std::uint32_t group = past_[index].group; group != BlockPast::none)
        add_use(group, writes);
}

void OrderState::use_address(const void* address) {
    Block* const block = find_block(address);
    if (block == nullptr) return;
    use(block, address, 1, true);
    found_.push_back(block);
}

// An array that a task made may have work on the DataOrder's own streams that no operation has
// declared. The newest task of such a stream, or an earlier one, may have written the array.
void OrderState::begin_past(std::size_t index) {
    past_[index].is_new = past_[index].is_special = false;
    const Block* const block = past_[index].block;
    if (block == nullptr) return;
    if (block->origin == MemoryOrigin::imported) {
        const std::uint32_t group = past_.find_group(imported_memory(past_[index].serial));
        past_[index].group = group;
        past_[index].is_special = true;
    }
    if (!had_tasks_) return;
    BlockPast& past = past_[index];
    const Users users(*block);
    for (const StreamUse& use : users.all()) {
        const DataStream* const data_stream =
            streams_.find(use.stream->key.load(std::memory_order_relaxed));
        if (data_stream == nullptr || data_stream->newest_task == 0) continue;
        // If several of these streams use the array, a task has used an array that another task
        // made. Whether it wrote the array is unknown.
        past.readers_may_write = past.writer != 0 || past.readers_may_write;
        past_.note(index, past.writer == 0, streams_.index_of(*data_stream),
                   data_stream->newest_task);
    }
}

void OrderState::need(std::uint32_t number, std::uint64_t position) {
    for (Needed& one : needed_) {
        if (one.number != number) continue;
        one.position = std::max(one.position, position);
        return;
    }
    needed_.push_back({number, position});
}

void OrderState::collect_needed() {
    needed_.clear();
    for (const Use use : uses_) {
        const BlockPast& past = past_[use.past];
        if (past.writer != 0) need(past.writer_stream, past.writer);
        if (!use.writes && !past.readers_may_write) continue;
        for (std::uint64_t streams = past.readers; streams != 0; streams &= streams - 1) {
            const auto number = static_cast<std::uint32_t>(__builtin_ctzll(streams));
            need(number, past_.reader(use.past, number));
        }
    }
}

std::uint64_t OrderState::waits_on(std::size_t number) const noexcept {
    std::uint64_t waits = 0;
    for (const Needed& one : needed_)
        waits += one.number != number && !streams_.is_after(number, one.number, one.position);
    return waits;
}

// An operation that is shorter than a wait runs on the stream of the previous operation, unless the
// newest operation there is long. Otherwise, an operation that depends on a stream's newest
// operation runs on that stream, because it could not start earlier elsewhere. Any other short
// operation runs on a stream whose newest operation is not long. All other operations run where
// they can start first: on the least loaded stream. In this comparison, a wait counts as several
// operations.
std::size_t OrderState::choose() const noexcept {
    if (streams_.work() == 1) return 0;
    const bool is_short = calls_.is_short(call_);
    if (is_short && streams_[current_].ends_short) return current_;
    std::size_t best = any_stream;
    std::uint64_t best_cost = 0;
    const auto offer = [&](std::size_t number, std::uint64_t cost) {
        if (best != any_stream && cost >= best_cost) return;
        best = number;
        best_cost = cost;
    };
    for (const Needed& one : needed_)
        if (one.number < streams_.work() && streams_[one.number].newest == one.position)
            offer(one.number, waits_on(one.number));
    if (best != any_stream) return best;
    for (std::size_t number = 0; is_short && number < streams_.work(); ++number)
        if (streams_[number].ends_short) return number;
    for (std::size_t number = 0; number < streams_.work(); ++number)
        offer(number, streams_[number].load + wait_cost * waits_on(number));
    return best;
}

// Records only if other work may have to wait for the stream's newest operation. No work will have
// to if the next operation replaces the newest one in the past of each array that the newest one
// used. The uses of arrays that a task made are unknown, so a record is made after such a task.
void OrderState::record_newest(std::size_t number, const SourceLocation& where) {
    const std::uint64_t newest = streams_[number].newest;
    const bool has_made = newest != 0 && streams_[number].newest_maker == newest;
    const bool is_wanted =
        has_made || std::ranges::any_of(newest_uses_[number], [&](const Use& before) {
            const BlockPast& past = past_[before.past];
            if (!past.is_shared && !streams_.records_all()) return false;
            const bool wrote = past.writer == newest && past.writer_stream == number;
            const bool read =
                (past.readers >> number & 1) != 0 && past_.reader(before.past, number) == newest;
            const bool is_replaced = past.used_by == this_call_ && (past.is_written || !wrote);
            return (wrote || read) && !is_replaced;
        });
    if (!is_wanted) return;
    (void)streams_[number].record(where);
    ++stats_.records;
}

void OrderState::order(std::size_t number, const SourceLocation& where) {
    for (const Use use : uses_) {
        BlockPast& past = past_[use.past];
        past.is_shared |= (past.writer != 0 && past.writer_stream != number) ||
                          ((use.writes || past.readers_may_write) &&
                           (past.readers & ~(std::uint64_t{1} << number)) != 0);
    }
    for (const Needed& one : needed_) {
        if (one.number == number) continue;
        // A wait also makes the stream inherit failures, so waits for failed streams are not
        // elided.
        if ((streams_.is_after(number, one.number, one.position) ||
             streams_.has_reached(one.number, one.position)) &&
            !has_failed(*streams_[one.number].stream)) {
            ++stats_.waits_elided;
            continue;
        }
        stats_.records += streams_.wait(number, one.number, one.position, where);
        ++stats_.waits_inserted;
    }
}

// Called for each operation, because streams outside this object may have used the
// memory since the last operation.
void OrderState::order_after_outside(std::size_t number, const SourceLocation& where) {
    const std::uint64_t bit = std::uint64_t{1} << number;
    for (const Use use : uses_) {
        BlockPast& past = past_[use.past];
        if (past.block == nullptr) continue;
        bool is_known = past.block->more_users.load(std::memory_order_relaxed) == nullptr;
        for (int i = 0; is_known && i < Block::inline_users; ++i) {
            const std::uint64_t key = past.block->users[i].load(std::memory_order_acquire);
            const OutsideUser& user = past.outside[i];
            if (key == 0) continue;
            is_known =
                key == user.key &&
                (user.stream == nullptr ||
                 ((user.streams & bit) != 0 &&
                  user.stream->submissions.load(std::memory_order_acquire) == user.submissions &&
                  (user.stream->flags.load(std::memory_order_relaxed) & stream_flag::slow_order) ==
                      0));
        }
        if (!is_known) [[unlikely]]
            look_at_outside(past, number, where);
        if (is_observed()) [[unlikely]]
            tell_ended(past, number, where);
    }
}

// The order's streams have not waited for streams that have ended. Other streams may have replaced
// such streams in the block's list of users.
void OrderState::tell_ended(BlockPast& past, std::size_t number,
                            const SourceLocation& where) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << number;
    if ((past.told & bit) != 0 || !has_ended_users(*past.block)) return;
    notify_after_others(streams_[number].stream, *streams_[0].stream, *past.block, where);
    past.told |= bit;
}

void OrderState::look_at_outside(BlockPast& past, std::size_t number, const SourceLocation& where) {
    const std::uint64_t bit = std::uint64_t{1} << number;
    StreamRecord& waiter = *streams_[number].stream;
    const std::uint64_t before = waiter.submissions.load(std::memory_order_relaxed);
    for (int i = 0; i < Block::inline_users; ++i) {
        const std::uint64_t key = past.block->users[i].load(std::memory_order_acquire);
        OutsideUser& user = past.outside[i];
        if (user.key != key) past.told = 0;
        if (failure_left_by(key) != nullptr) {
            user = {};  // checked again at each operation
            continue;
        }
        if (key == 0 || streams_.find(key) != nullptr) {
            user = {.key = key};
            continue;
        }
        if (is_void_user(key) || has_ended(key)) {
            if (user.stream != nullptr) past.told = 0;
            user = {.key = key};
            continue;
        }
        const StreamUse use = use_of(key);
        // Read before the wait, so that `user` does not cover more work than the wait does.
        const std::uint64_t submitted = use.stream->submissions.load(std::memory_order_acquire);
        order_after_use(waiter, use, where, WaitReason::data);
        const bool same = user.key == key && user.submissions == submitted;
        user = {key, use.stream, submitted, (same ? user.streams : 0) | bit};
    }
    if (past.block->more_users.load(std::memory_order_acquire) != nullptr) {
        past.told = 0;
        const Users users(*past.block);
        for (const StreamUse& use : users.all())
            if (streams_.find(use.stream->key.load(std::memory_order_relaxed)) == nullptr)
                order_after_use(waiter, use, where, WaitReason::data);
    }
    take_over(waiter, failure_of(*past.block, &is_own_stream, &streams_), where);
    stats_.waits_inserted += waiter.submissions.load(std::memory_order_relaxed) - before;
}

StreamRecord& OrderState::start(const SourceLocation& where, std::size_t number) {
    collect_needed();
    call_ = calls_.find(where, bytes_);
    current_ = number != any_stream ? number : choose();
    if (streams_.count() != 1) {
        // Must precede this operation's waits, which would otherwise delay the record.
        if (streams_.records(current_)) record_newest(current_, where);
        // Reserves room for end(), which must not fail: for all uses, and for the memory that an
        // allocation adds later.
        newest_uses_[current_].reserve(uses_.size() + 1);
    }
    order(current_, where);
    order_after_outside(current_, where);
    StreamRecord& stream = *streams_[current_].stream;
    for (Block* const block : found_) note_use(block, stream);
    return stream;
}

void OrderState::give_load(std::size_t number) noexcept {
    const std::uint64_t load = ++streams_[number].load;
    if (load <= most_behind) return;
    for (std::size_t i = 0; i < streams_.work(); ++i)
        streams_[i].load = std::max(streams_[i].load, load - most_behind);
}

void OrderState::end_allocation() noexcept {
    end();
    --stats_.operations;
}

void OrderState::wait_for_present(const SourceLocation& where) {
    Access::stream(*streams_[current_].stream).synchronize(where);
}

void OrderState::end() noexcept {
    const std::uint64_t position = streams_.advance(current_);
    for (const Use use : uses_)
        past_.note(use.past, use.writes, static_cast<std::uint32_t>(current_), position);
    if (streams_.count() != 1) newest_uses_[current_].assign(uses_.begin(), uses_.end());
    give_load(current_);
    streams_.note_call(current_, calls_, call_);
    ++stats_.operations;
}

void OrderState::end_task() noexcept {
    is_in_task_ = false;
    end();
    DataStream& data_stream = streams_[current_];
    data_stream.newest_task = data_stream.newest;
    // Each new array takes the thread's next id. So if the next id is not task_id_ + 1, the task
    // may have made an array.
    if (next_id() != task_id_ + 1) data_stream.newest_maker = data_stream.newest;
    had_tasks_ = true;
}

void OrderState::wait_on_host(const char* call, const SourceLocation& where) {
    collect_needed();
    for (const Needed& one : needed_) streams_.wait_on_host(one.number, one.position, call, where);
    for (const Use use : uses_) {
        const Block* const block = past_[use.past].block;
        if (block == nullptr) continue;
        const Users users(*block);
        for (const StreamUse& user : users.all()) {
            if (user.stream->has(stream_flag::forked) ||
                streams_.find(user.stream->key.load(std::memory_order_relaxed)) != nullptr)
                continue;
            send_batch_of(*user.stream, where);
            HostWait wait("wait for the memory's users", user, where, WaitReason::data);
            user.stream->backend->synchronize_use(user, where);
            wait.end();
        }
        if (is_observed() && has_ended_users(*block))
            notify_after_others(nullptr, *streams_[0].stream, *block, where);
        // Leaves out the DataOrder's own streams, because the waits above have thrown their
        // failures.
        if (const Failure failure = failure_of(*block, &is_own_stream, &streams_))
            throw_failure(failure);
    }
}

void OrderState::join(const SourceLocation& where) {
    StreamRecord& current = record_of(current_stream(device_));
    check_not_recorded(current, "join", where);
    for (std::size_t i = 0; i < streams_.count(); ++i) {
        if (streams_[i].newest != 0)
            order_beside_recorders(current, *streams_[i].stream, where, WaitReason::join);
    }
}

void OrderState::synchronize(const SourceLocation& where) {
    std::exception_ptr first;
    for (std::size_t i = 0; i < streams_.count(); ++i) try {
            Access::stream(*streams_[i].stream).synchronize(where);
        } catch (...) {
            if (first == nullptr) first = std::current_exception();
        }
    if (first != nullptr) std::rethrow_exception(first);
}

std::exception_ptr OrderState::clear_error(const SourceLocation& where) {
    std::exception_ptr first;
    for (std::size_t i = 0; i < streams_.count(); ++i) {
        const std::exception_ptr one = Access::stream(*streams_[i].stream).clear_error(where);
        if (first == nullptr) first = one;
    }
    // All work has completed, so no wait needs the records, which still contain the failure.
    streams_.forget_points();
    past_.forget_outside();  // outside streams may have uncleared failures
    return first;
}

}  // namespace heddle::detail
