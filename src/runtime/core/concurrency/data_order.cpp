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

bool is_lane(const void* lanes, std::uint64_t key) {
    return static_cast<const DataLanes*>(lanes)->find(key) != nullptr;
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
      lanes_(device, stream_count(device, options, where), options, where), past_(lanes_.count()) {
    newest_uses_.resize(lanes_.count());
    uses_.reserve(16);
    needed_.reserve(lanes_.count());
    StreamRecord& current = record_of(current_stream(device));
    check_not_recorded(current, "DataOrder", where);
    for (std::size_t i = 0; i < lanes_.count(); ++i) {
        order_after_use(*lanes_[i].stream, use_of_stream(current), where, WaitReason::fork);
        // Without this report, observers would count these streams as streams outside the
        // DataOrder, until tell_ended() reports them.
        if (is_observed()) notify_order_of(*lanes_[i].stream, *lanes_[0].stream, where);
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
        const DataLane* const lane = lanes_.find(use.stream->key.load(std::memory_order_relaxed));
        if (lane == nullptr || lane->newest_task == 0) continue;
        // If several of these streams use the array, a task has used an array that another task
        // made. Whether it wrote the array is unknown.
        past.readers_may_write = past.writer != 0 || past.readers_may_write;
        past_.note(index, past.writer == 0, lanes_.index_of(*lane), lane->newest_task);
    }
}

void OrderState::need(std::uint32_t lane, std::uint64_t position) {
    for (Needed& one : needed_) {
        if (one.lane != lane) continue;
        one.position = std::max(one.position, position);
        return;
    }
    needed_.push_back({lane, position});
}

void OrderState::collect_needed() {
    needed_.clear();
    for (const Use use : uses_) {
        const BlockPast& past = past_[use.past];
        if (past.writer != 0) need(past.writer_lane, past.writer);
        if (!use.writes && !past.readers_may_write) continue;
        for (std::uint64_t lanes = past.readers; lanes != 0; lanes &= lanes - 1) {
            const auto lane = static_cast<std::uint32_t>(__builtin_ctzll(lanes));
            need(lane, past_.reader(use.past, lane));
        }
    }
}

std::uint64_t OrderState::waits_on(std::size_t lane) const noexcept {
    std::uint64_t waits = 0;
    for (const Needed& one : needed_)
        waits += one.lane != lane && !lanes_.is_after(lane, one.lane, one.position);
    return waits;
}

// An operation that is shorter than a wait runs on the stream of the previous operation, unless the
// newest operation there is long. Otherwise, an operation that depends on a stream's newest
// operation runs on that stream, because it could not start earlier elsewhere. Any other short
// operation runs on a stream whose newest operation is not long. All other operations run where
// they can start first: on the least loaded stream. In this comparison, a wait counts as several
// operations.
std::size_t OrderState::choose() const noexcept {
    if (lanes_.work() == 1) return 0;
    const bool is_short = calls_.is_short(call_);
    if (is_short && lanes_[lane_].ends_short) return lane_;
    std::size_t best = any_lane;
    std::uint64_t best_cost = 0;
    const auto offer = [&](std::size_t lane, std::uint64_t cost) {
        if (best != any_lane && cost >= best_cost) return;
        best = lane;
        best_cost = cost;
    };
    for (const Needed& one : needed_)
        if (one.lane < lanes_.work() && lanes_[one.lane].newest == one.position)
            offer(one.lane, waits_on(one.lane));
    if (best != any_lane) return best;
    for (std::size_t lane = 0; is_short && lane < lanes_.work(); ++lane)
        if (lanes_[lane].ends_short) return lane;
    for (std::size_t lane = 0; lane < lanes_.work(); ++lane)
        offer(lane, lanes_[lane].load + wait_cost * waits_on(lane));
    return best;
}

// Records only if other work may have to wait for the stream's newest operation. No work will have
// to if the next operation replaces the newest one in the past of each array that the newest one
// used. The uses of arrays that a task made are unknown, so a record is made after such a task.
void OrderState::record_newest(std::size_t lane, const SourceLocation& where) {
    const std::uint64_t newest = lanes_[lane].newest;
    const bool has_made = newest != 0 && lanes_[lane].newest_maker == newest;
    const bool is_wanted =
        has_made || std::ranges::any_of(newest_uses_[lane], [&](const Use& before) {
            const BlockPast& past = past_[before.past];
            if (!past.is_shared && !lanes_.records_all()) return false;
            const bool wrote = past.writer == newest && past.writer_lane == lane;
            const bool read =
                (past.readers >> lane & 1) != 0 && past_.reader(before.past, lane) == newest;
            const bool is_replaced = past.used_by == this_call_ && (past.is_written || !wrote);
            return (wrote || read) && !is_replaced;
        });
    if (!is_wanted) return;
    (void)lanes_[lane].record(where);
    ++stats_.records;
}

void OrderState::order(std::size_t lane, const SourceLocation& where) {
    for (const Use use : uses_) {
        BlockPast& past = past_[use.past];
        past.is_shared |= (past.writer != 0 && past.writer_lane != lane) ||
                          ((use.writes || past.readers_may_write) &&
                           (past.readers & ~(std::uint64_t{1} << lane)) != 0);
    }
    for (const Needed& one : needed_) {
        if (one.lane == lane) continue;
        // A wait also makes the stream inherit failures, so waits for failed streams are not
        // elided.
        if ((lanes_.is_after(lane, one.lane, one.position) ||
             lanes_.has_reached(one.lane, one.position)) &&
            !has_failed(*lanes_[one.lane].stream)) {
            ++stats_.waits_elided;
            continue;
        }
        stats_.records += lanes_.wait(lane, one.lane, one.position, where);
        ++stats_.waits_inserted;
    }
}

// Called for each operation, because streams that are not lanes of this object may have used the
// memory since the last operation.
void OrderState::order_after_outside(std::size_t lane, const SourceLocation& where) {
    const std::uint64_t bit = std::uint64_t{1} << lane;
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
                 ((user.lanes & bit) != 0 &&
                  user.stream->submissions.load(std::memory_order_acquire) == user.submissions &&
                  (user.stream->flags.load(std::memory_order_relaxed) & stream_flag::slow_order) ==
                      0));
        }
        if (!is_known) [[unlikely]]
            look_at_outside(past, lane, where);
        if (is_observed()) [[unlikely]]
            tell_ended(past, lane, where);
    }
}

// The lanes have not waited for streams that have ended. Other streams may have replaced such
// streams in the block's list of users.
void OrderState::tell_ended(BlockPast& past, std::size_t lane,
                            const SourceLocation& where) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << lane;
    if ((past.told & bit) != 0 || !has_ended_users(*past.block)) return;
    notify_after_others(lanes_[lane].stream, *lanes_[0].stream, *past.block, where);
    past.told |= bit;
}

void OrderState::look_at_outside(BlockPast& past, std::size_t lane, const SourceLocation& where) {
    const std::uint64_t bit = std::uint64_t{1} << lane;
    StreamRecord& waiter = *lanes_[lane].stream;
    const std::uint64_t before = waiter.submissions.load(std::memory_order_relaxed);
    for (int i = 0; i < Block::inline_users; ++i) {
        const std::uint64_t key = past.block->users[i].load(std::memory_order_acquire);
        OutsideUser& user = past.outside[i];
        if (user.key != key) past.told = 0;
        if (failure_left_by(key) != nullptr) {
            user = {};  // checked again at each operation
            continue;
        }
        if (key == 0 || lanes_.find(key) != nullptr) {
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
        const std::uint64_t given = use.stream->submissions.load(std::memory_order_acquire);
        order_after_use(waiter, use, where, WaitReason::data);
        const bool same = user.key == key && user.submissions == given;
        user = {key, use.stream, given, (same ? user.lanes : 0) | bit};
    }
    if (past.block->more_users.load(std::memory_order_acquire) != nullptr) {
        past.told = 0;
        const Users users(*past.block);
        for (const StreamUse& use : users.all())
            if (lanes_.find(use.stream->key.load(std::memory_order_relaxed)) == nullptr)
                order_after_use(waiter, use, where, WaitReason::data);
    }
    take_over(waiter, failure_of(*past.block, &is_lane, &lanes_), where);
    stats_.waits_inserted += waiter.submissions.load(std::memory_order_relaxed) - before;
}

StreamRecord& OrderState::start(const SourceLocation& where, std::size_t lane) {
    collect_needed();
    call_ = calls_.find(where, bytes_);
    lane_ = lane != any_lane ? lane : choose();
    if (lanes_.count() != 1) {
        // Must precede this operation's waits, which would otherwise delay the record.
        if (lanes_.records(lane_)) record_newest(lane_, where);
        // Reserves room for end(), which must not fail: for all uses, and for the memory that an
        // allocation adds later.
        newest_uses_[lane_].reserve(uses_.size() + 1);
    }
    order(lane_, where);
    order_after_outside(lane_, where);
    StreamRecord& stream = *lanes_[lane_].stream;
    for (Block* const block : found_) note_use(block, stream);
    return stream;
}

void OrderState::give_load(std::size_t lane) noexcept {
    const std::uint64_t load = ++lanes_[lane].load;
    if (load <= most_behind) return;
    for (std::size_t i = 0; i < lanes_.work(); ++i)
        lanes_[i].load = std::max(lanes_[i].load, load - most_behind);
}

void OrderState::end_allocation() noexcept {
    end();
    --stats_.operations;
}

void OrderState::wait_for_present(const SourceLocation& where) {
    Access::stream(*lanes_[lane_].stream).synchronize(where);
}

void OrderState::end() noexcept {
    const std::uint64_t position = lanes_.advance(lane_);
    for (const Use use : uses_)
        past_.note(use.past, use.writes, static_cast<std::uint32_t>(lane_), position);
    if (lanes_.count() != 1) newest_uses_[lane_].assign(uses_.begin(), uses_.end());
    give_load(lane_);
    lanes_.note_call(lane_, calls_, call_);
    ++stats_.operations;
}

void OrderState::end_task() noexcept {
    is_in_task_ = false;
    end();
    DataLane& lane = lanes_[lane_];
    lane.newest_task = lane.newest;
    // Each new array takes the thread's next id. So if the next id is not task_id_ + 1, the task
    // may have made an array.
    if (next_id() != task_id_ + 1) lane.newest_maker = lane.newest;
    had_tasks_ = true;
}

void OrderState::wait_on_host(const char* call, const SourceLocation& where) {
    collect_needed();
    for (const Needed& one : needed_) lanes_.wait_on_host(one.lane, one.position, call, where);
    for (const Use use : uses_) {
        const Block* const block = past_[use.past].block;
        if (block == nullptr) continue;
        const Users users(*block);
        for (const StreamUse& user : users.all()) {
            if (user.stream->has(stream_flag::forked) ||
                lanes_.find(user.stream->key.load(std::memory_order_relaxed)) != nullptr)
                continue;
            send_batch_of(*user.stream, where);
            HostWait wait("wait for the memory's users", user, where, WaitReason::data);
            user.stream->backend->synchronize_use(user, where);
            wait.end();
        }
        if (is_observed() && has_ended_users(*block))
            notify_after_others(nullptr, *lanes_[0].stream, *block, where);
        // Leaves out the DataOrder's own streams, because the waits above have thrown their
        // failures.
        if (const Failure failure = failure_of(*block, &is_lane, &lanes_)) throw_failure(failure);
    }
}

void OrderState::join(const SourceLocation& where) {
    StreamRecord& current = record_of(current_stream(device_));
    check_not_recorded(current, "join", where);
    for (std::size_t i = 0; i < lanes_.count(); ++i) {
        if (lanes_[i].newest != 0)
            order_beside_recorders(current, *lanes_[i].stream, where, WaitReason::join);
    }
}

void OrderState::synchronize(const SourceLocation& where) {
    std::exception_ptr first;
    for (std::size_t i = 0; i < lanes_.count(); ++i) try {
            Access::stream(*lanes_[i].stream).synchronize(where);
        } catch (...) {
            if (first == nullptr) first = std::current_exception();
        }
    if (first != nullptr) std::rethrow_exception(first);
}

std::exception_ptr OrderState::clear_error(const SourceLocation& where) {
    std::exception_ptr first;
    for (std::size_t i = 0; i < lanes_.count(); ++i) {
        const std::exception_ptr one = Access::stream(*lanes_[i].stream).clear_error(where);
        if (first == nullptr) first = one;
    }
    // All work has completed, so no wait needs the records, which still contain the failure.
    lanes_.forget_points();
    past_.forget_outside();  // outside streams may have uncleared failures
    return first;
}

}  // namespace heddle::detail
