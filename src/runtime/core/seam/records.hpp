// Records of streams and events: state that core owns and the backends fill in. Inline code reads
// the part in StreamState.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/base/spin_lock.hpp"
#include "core/failure/fallible_stream.hpp"
#include "core/operation/flight.hpp"
#include "core/seam/completion.hpp"
#include "core/seam/waited_for.hpp"
#include <heddle/stream/detail/stream_state.hpp>
#include <heddle/stream/event.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle::detail {

struct StreamRecord;
struct KeptMemory;
class Recorder;

/// The full state of a stream. Made by the registry and never freed. When its stream has ended, the
/// record is reused for another stream of the same device, with another `id`. No two records share
/// a cache line, because each submission writes to its stream's record.
struct alignas(64) StreamRecord : FallibleStream {
    std::uint32_t slot = 0;        ///< index in the registry; never changes
    std::atomic<int> priority{0};  ///< read by the watch while the record is being reused
    std::string name;              ///< empty means "stream <id>"; changed by name_stream() only
    WaitedFor waited;

    /// Held while the native stream is made or destroyed, and by threads that access a closed
    /// stream or a stream of another thread. Such threads check, with the lock held, that the
    /// record still belongs to that stream and still has a native stream.
    SpinLock life;

    /// The recorder (capture or batch) of the stream, while flag `recording` is set; else null.
    std::atomic<Recorder*> recorder{nullptr};
    /// The outermost recorder of the stream, while flag `recording` is set; else null. Differs from
    /// `recorder` if a capture began inside a batch or another capture.
    std::atomic<Recorder*> outermost{nullptr};
    /// Index among the recorder's participants; guarded by the recorder's lock.
    std::size_t participant = 0;
    /// All of this stream's work up to submission `ordered_up_to` is ordered before further work on
    /// the stream with id `ordered_before`. Guarded by `life`.
    std::uint64_t ordered_up_to = 0;
    std::uint64_t ordered_before = 0;
    /// CPU: completes when a batch's graph has done its work for the stream, if submission
    /// `ordered_up_to` waits for that work. Guarded by `life`.
    CompletionRef ordered_end;

    /// Number of Stream objects that own this record: more than one if a native handle was wrapped
    /// again. close_stream() closes the stream when the last owner drops it. Starts at 1.
    std::atomic<std::uint32_t> owners{1};

    /// Number of submissions that have begun. A submission is announced here before it reads the
    /// flags again, and counted in `submissions` after it was enqueued. Backends with queues of
    /// their own use a lock instead, and do not change this number. (core/stream/submission.hpp)
    std::atomic<std::uint64_t> announced{0};

    // The next members are owned by the backend.
    void* cached_event = nullptr;  ///< CUDA: the cudaEvent_t that wait_stream() records
    /// CUDA: `cached_event` covers at least this many submissions. Set only under a watch.
    std::atomic<std::uint64_t> cached_at{0};
    /// Completes with the last work of a closed stream; then null. CUDA: a cudaEvent_t. CPU: a
    /// CompletionRef*. Guarded by `life`.
    void* final_event = nullptr;
    bool owns_native = true;  ///< false for a wrapped native stream
    /// CUDA: the CompletionWaits through which the stream waits for CPU work. Kept for reuse.
    void* completion_waits = nullptr;
    /// CUDA: while not 0, the record is not reused and keeps `final_event`. Incremented by
    /// synchronize_device(), and by notifications that will query the stream's failure.
    std::atomic<std::uint32_t> pins{0};
    /// CUDA: number of submissions known to have completed; if the device is lost, only submissions
    /// after these fail. CPU: not 0 while the stream is idle.
    std::atomic<std::uint64_t> seen_complete{0};
    /// CPU: its current urgency, including urgency lent by other streams (cpu/queue/loans.hpp).
    std::atomic<int> level{0};

    /// Number of operations reported to observers. Never decreases, even when the record is reused.
    std::atomic<std::uint64_t> noted{0};
    /// The stream's last operations. Null if none was enqueued while the process was watched; never
    /// freed.
    std::atomic<FlightRing*> flight{nullptr};
    /// The value of `noted` when the record was assigned to this stream.
    std::atomic<std::uint64_t> noted_before{0};

    /// The cache of memory freed on this stream; null before first use. Kept when the record is
    /// reused. (core/memory/kept_memory.hpp)
    std::atomic<KeptMemory*> kept{nullptr};

    StreamRecord* next_free = nullptr;

    /// The address by which the end of a CPU stream and of its work is declared to ThreadSanitizer.
    const void* end_of_work() const noexcept { return &slot; }
    std::string display_name() const {
        return name.empty() ? "stream " + std::to_string(id.load()) : name;
    }
};

/// A stream that used some memory. If its record has been reused, all its work has completed.
struct StreamUse {
    StreamRecord* stream = nullptr;
    std::uint64_t id = 0;
    /// Returns whether the record still belongs to that stream.
    bool is_same() const noexcept { return stream->id.load(std::memory_order_acquire) == id; }
};

inline StreamRecord& record_of(StreamState& state) noexcept {
    return static_cast<StreamRecord&>(state);
}
inline StreamRecord& record_of(StreamRef stream) noexcept {
    return record_of(Access::state(stream));
}

/// The full state of an event. Its address identifies the event until the Event and all EventOwners
/// (graphs, recordings) are destroyed. The state then returns to a pool with its `native`, or is
/// deleted if code outside heddle may still use `native`. (docs/adr/0020)
struct HEDDLE_HIDDEN EventState {
    Backend* backend = nullptr;
    Device device = Access::device(DeviceKind::cpu, 0);
    EventOptions options;
    /// CUDA: a cudaEvent_t. CPU: a CompletionRef* for the newest record, or null; for interprocess
    /// events, a SharedEvent*.
    void* native = nullptr;
    bool recorded = false;
    bool owns_native = true;  ///< false for wrapped and imported events
    std::atomic<bool> handed_out{
        false};  ///< code outside heddle may record the event, so the fields below may be stale
    bool in_graph = false;  ///< CUDA: graph nodes have used `native`; launches may record it
    /// Whether the stream's submission count covered all of its work at the record.
    bool countable = false;
    StreamRecord* stream = nullptr;  ///< the stream of the newest record
    std::uint64_t stream_id = 0;
    std::uint64_t submissions = 0;  ///< the stream's submission count at the record
    /// CUDA: the WorkOutcome of that stream (its failure, if any), if work before the record may
    /// have failed; else null.
    std::shared_ptr<WorkOutcome> outcome;
    /// The capture or batch in which the newest record was made, or 0.
    std::uint64_t capture_id = 0;
    /// The recorder with that id, if it holds the newest record; else null.
    std::atomic<Recorder*> recorder{nullptr};
    // The next members are for observers. Flushing a batch does not change them.
    std::uint64_t uid = 0;                 ///< unique identity of the Event
    std::uint64_t records = 0;             ///< number of records by calls and launched graphs
    StreamRecord* noted_on = nullptr;      ///< the stream of the newest record
    std::uint64_t position = 0;            ///< that stream's StreamRecord::noted at the record
    std::atomic<void*> watched{nullptr};   ///< CUDA: the notification that polls `native` now
    std::atomic<std::uint32_t> owners{1};  ///< see EventOwner
    std::atomic<bool> alive{true};         ///< whether its Event exists
    EventState* next_free = nullptr;

    /// Returns whether the event has been recorded. While `recorder` is not null, other threads may
    /// flush its batch, which changes all fields except `device`, `options` and `backend`. Read the
    /// changing fields only under the recorder's lock, or once `recorder` is null.
    bool is_recorded() const noexcept {
        return recorder.load(std::memory_order_acquire) != nullptr || recorded;
    }
};

/// Drops one owner. The last one returns the event to its pool, or deletes it. (event_pool.cpp)
void release_event(EventState& event) noexcept;

/// Prevents reuse of an event's state and native event after its Event is destroyed. Held by graph
/// nodes, recorded operations and running launches.
class EventOwner {
public:
    EventOwner() noexcept = default;
    /// Implicit, so that an EventOwner is assigned like a pointer.
    EventOwner(EventState* event) noexcept : event_(event) { retain(); }
    EventOwner(const EventOwner& other) noexcept : event_(other.event_) { retain(); }
    EventOwner(EventOwner&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    EventOwner& operator=(EventOwner other) noexcept {
        std::swap(event_, other.event_);
        return *this;
    }
    ~EventOwner() {
        if (event_ != nullptr) release_event(*event_);
    }
    EventState* get() const noexcept { return event_; }
    EventState& operator*() const noexcept { return *event_; }
    EventState* operator->() const noexcept { return event_; }
    friend bool operator==(const EventOwner& a, const EventOwner& b) noexcept {
        return a.event_ == b.event_;
    }
    friend bool operator==(const EventOwner& a, std::nullptr_t) noexcept {
        return a.event_ == nullptr;
    }

private:
    void retain() noexcept {
        if (event_ != nullptr) event_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    EventState* event_ = nullptr;
};

}  // namespace heddle::detail
