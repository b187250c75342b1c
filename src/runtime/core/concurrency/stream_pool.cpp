// Implements StreamPool and reserve_streams().
#include <heddle/concurrency/stream_pool.hpp>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "core/base/errors.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/registry.hpp"
#include "core/stream/returned_streams.hpp"
#include "core/stream/usable.hpp"
#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle {

namespace detail {

struct HEDDLE_HIDDEN StreamPoolState {
    /// The streams of one priority, which was clamped to the device's range.
    struct Group {
        /// Returned streams. Those with work that a batch has not submitted yet count as in use.
        detail::ReturnedStreams returned;
        std::vector<StreamRecord*> shared;
        std::size_t next_shared = 0;
    };

    Device device;
    StreamPoolOptions options;
    std::mutex mutex;
    std::map<int, Group> groups;
    int made = 0;
    int exclusive = 0;
    int held = 0;  ///< number of users' Lease objects

    StreamPoolState(Device d, StreamPoolOptions o) : device(d), options(o) {}
    ~StreamPoolState() {
        for (auto& [priority, group] : groups) {
            while (group.returned.size() != 0) detail::close_stream(group.returned.remove(0));
            for (StreamRecord* stream : group.shared) detail::close_stream(*stream);
        }
    }

    int clamp(int priority) const {
        const PriorityRange range = device.priorities();
        return std::max(range.greatest, std::min(range.least, priority));
    }

    StreamRecord& make(int priority, const SourceLocation& where) {
        StreamRecord& stream =
            detail::open_stream(device, priority, "pool stream", where, detail::Naming::with_id);
        try {
            // Reserves room for the stream's return, so that returning it never allocates.
            groups[stream.priority].returned.reserve(static_cast<std::size_t>(made) + 1);
        } catch (...) {
            detail::close_stream(stream);
            throw;
        }
        ++made;
        return stream;
    }

    /// Returns whether a returned stream must not be leased again, because it has failed, its
    /// native handle is known outside heddle, or it still takes part in a capture.
    static bool is_spoilt(StreamRecord& stream) noexcept {
        return stream.has(detail::stream_flag::poisoned | detail::stream_flag::unseen |
                          detail::stream_flag::capturing | detail::stream_flag::captured);
    }
    /// Returns whether work on `stream` would be captured by a capture other than that of the
    /// calling thread's current stream.
    bool is_captured_elsewhere(StreamRecord& stream) const {
        return stream.has(detail::stream_flag::captured) &&
               stream.recorder.load() != detail::record_of(current_stream(device)).recorder.load();
    }
    void drop(StreamRecord& stream) noexcept {
        detail::close_stream(stream);
        --exclusive;
        --made;
    }

    static bool is_idle(StreamRecord& stream) {
        try {
            return detail::is_idle(stream, {});
        } catch (...) {
            return false;
        }
    }

    StreamRecord& take(int priority, const SourceLocation& where) {
        const std::lock_guard lock(mutex);
        Group& group = groups[priority];
        StreamRecord* stream = nullptr;
        const auto drops = [this](StreamRecord& one) { drop(one); };
        // A stream that takes part in a capture must not be queried.
        const auto is_free = [](StreamRecord& one) {
            return !detail::is_recorded(one) && is_idle(one);
        };
        stream = group.returned.take(is_spoilt, drops, is_free);
        if (stream == nullptr && exclusive >= options.max_streams)
            stream = group.returned.take_any(is_spoilt, drops, is_free);
        if (stream == nullptr && exclusive < options.max_streams) {
            stream = &make(priority, where);
            ++exclusive;
        }
        // Takes a busy stream. The new lease's work is ordered after the earlier work, even if that
        // is in the calling thread's own batch.
        if (stream == nullptr)
            stream = group.returned.take_any(is_spoilt, drops, detail::stay_in_own_batch);
        if (stream == nullptr) throw_all_leased(where);
        stream->note_back();
        ++held;
        return *stream;
    }

    [[noreturn]] void throw_all_leased(const SourceLocation& where) const {
        const std::string unsent =
            count_unsent() == 0
                ? std::string()
                : detail::formatted(" ({} of them by batches that have not submitted their work)",
                                    count_unsent());
        detail::usage_error({"StreamPool::lease", where, device},
                            "all {} streams of this pool are leased{} or have another priority: "
                            "end a lease, use shared(), or raise StreamPoolOptions::max_streams",
                            options.max_streams, unsent);
    }

    /// Returns the number of returned streams that are still in open batches.
    int count_unsent() const {
        std::ptrdiff_t count = 0;
        for (const auto& [priority, group] : groups)
            for (std::size_t i = 0; i < group.returned.size(); ++i)
                count += detail::is_recorded(*group.returned[i].stream) ? 1 : 0;
        return static_cast<int>(count);
    }

    void give(StreamRecord& stream) noexcept {
        // Called without the mutex, because another thread may be flushing the batch.
        detail::leave_batch_when_sent(stream);
        const std::lock_guard lock(mutex);
        --held;
        if (is_spoilt(stream)) {
            drop(stream);
            return;
        }
        groups.find(stream.priority)->second.returned.give({.stream = &stream});
    }
};

}  // namespace detail

using detail::StreamRecord;

StreamPool::StreamPool(Device device, StreamPoolOptions options, Where where) try {
    if (options.max_streams < 1 || options.shared < 1)
        detail::usage_error({"StreamPool", where, device},
                            "max_streams is {} and shared is {}: set both to 1 or more",
                            options.max_streams, options.shared);
    state_ = std::make_shared<detail::StreamPoolState>(device, options);
} catch (...) {
    detail::rethrow_as_error("StreamPool", where);
}
StreamPool::~StreamPool() = default;

StreamPool::Lease StreamPool::lease(int priority, Where where) try {
    return detail::Access::make<Lease>(state_, state_->take(state_->clamp(priority), where));
} catch (...) {
    detail::rethrow_as_error("StreamPool::lease", where);
}

StreamRef StreamPool::shared(int priority, Where where) try {
    const std::lock_guard lock(state_->mutex);
    detail::StreamPoolState::Group& group = state_->groups[state_->clamp(priority)];
    const auto usable = std::ranges::count_if(
        group.shared, [this](StreamRecord* one) { return !state_->is_captured_elsewhere(*one); });
    if (usable < state_->options.shared) {
        group.shared.reserve(std::bit_ceil(group.shared.size() + 1));
        group.shared.push_back(&state_->make(priority, where));
        return detail::Access::stream(*group.shared.back());
    }
    for (;;) {
        StreamRecord& next = *group.shared[group.next_shared++ % group.shared.size()];
        if (!state_->is_captured_elsewhere(next)) return detail::Access::stream(next);
    }
} catch (...) {
    detail::rethrow_as_error("StreamPool::shared", where);
}

Device StreamPool::device() const noexcept { return state_->device; }

int StreamPool::size() const {
    const std::lock_guard lock(state_->mutex);
    return state_->made;
}

int StreamPool::leased() const {
    const std::lock_guard lock(state_->mutex);
    return state_->held + state_->count_unsent();
}

void reserve_streams(Device device, std::size_t count, Where where) {
    constexpr std::size_t most = 4096;
    if (count > most)
        detail::usage_error({"reserve_streams", where, device},
                            "{} streams are too many: reserve at most {}", count, most);
    detail::backend_of(device.kind()).reserve_streams(device.index(), count, where);
}

int StreamPool::concurrent_queues() const {
    return detail::backend_of(state_->device.kind()).concurrent_queues(state_->device.index());
}

StreamPool::Lease::Lease(std::shared_ptr<void> pool, detail::StreamState& state) noexcept
    : StreamRef(state), pool_(std::move(pool)) {}

StreamPool::Lease::Lease(Lease&& other) noexcept
    : StreamRef(*other.state_), pool_(std::move(other.pool_)) {
    other.state_ = &detail::null_stream();
}

StreamPool::Lease& StreamPool::Lease::operator=(Lease&& other) noexcept {
    if (this != &other) {
        if (pool_ != nullptr)
            static_cast<detail::StreamPoolState*>(pool_.get())->give(detail::record_of(*state_));
        state_ = std::exchange(other.state_, &detail::null_stream());
        pool_ = std::move(other.pool_);
    }
    return *this;
}

StreamPool::Lease::~Lease() {
    if (pool_ != nullptr)
        static_cast<detail::StreamPoolState*>(pool_.get())->give(detail::record_of(*state_));
}

}  // namespace heddle
