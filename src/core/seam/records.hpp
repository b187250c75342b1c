// Records of streams and of events: state that core keeps and that the backends fill in. What
// inline code needs of a stream is in StreamState.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>

#include "core/base/spin_lock.hpp"
#include "core/seam/completion.hpp"
#include "core/seam/waited_for.hpp"
#include <heddle/detail/stream_state.hpp>
#include <heddle/stream/event.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle::detail {

struct StreamRecord;
class Recorder;

/// The failure of one stream's work, if any, and the other streams' work it depends on. A stream
/// gets a new Fate when its failure is cleared (clear_error()) and when its record becomes another
/// stream. Shared with streams that waited for it and events recorded on it, which may ask much
/// later. All members are thread-safe. (docs/adr/0019)
class Fate {
public:
    /// Sets the failure unless there is one already. `at` is the submission that failed.
    void fail(const Failure& reason, std::uint64_t at) noexcept;
    /// Returns the failure, own or inherited through dependencies, that affects the first
    /// `submissions` submissions; null if none is known.
    Failure failure_up_to(std::uint64_t submissions) noexcept;
    /// Returns whether there is neither a failure nor a dependency that could bring one.
    bool is_clean() const noexcept { return clean_.load(std::memory_order_acquire); }

    /// Notes that this stream, at its submission count `now`, waited for the first `submissions`
    /// submissions of the stream whose fate is `other`. Inherits the other one's dependencies. For
    /// streams whose failures become known late (host functions of CUDA streams).
    void depend_on(const std::shared_ptr<Fate>& other, std::uint64_t submissions,
                   std::uint64_t now);
    /// Drops the dependencies of the first `submissions` submissions: they have completed and did
    /// not fail.
    void forget_dependencies(std::uint64_t submissions) noexcept;
    /// Drops all dependencies: the work has completed. If `next` is not null, moves those of work
    /// after the first `submissions` submissions to it. A failure stays.
    void end(Fate* next = nullptr, std::uint64_t submissions = ~std::uint64_t{0}) noexcept;

private:
    /// A wait for the first `submissions` submissions of another stream.
    struct Dependency {
        std::shared_ptr<Fate> on;
        std::uint64_t submissions;
        /// The stream's own submission count at the wait: earlier work is not affected.
        std::uint64_t at;
    };
    Failure own_failure_up_to(std::uint64_t submissions) noexcept;
    /// Notes that the first `submissions` submissions are known to have completed.
    void note_done(std::uint64_t submissions) noexcept;
    /// Drops dependencies on work that has completed and did not fail. Call with `mutex_` held.
    void forget_done(std::list<Dependency>& to) noexcept;
    /// Updates `clean_`. Call with `mutex_` held.
    void note_clean() noexcept;

    std::atomic<bool> clean_{true};
    std::atomic<std::uint64_t> done_{0};  ///< see note_done()
    std::mutex mutex_;  ///< guards `dependencies_`; no thread holds those of two fates
    std::list<Dependency> dependencies_;
    std::mutex failure_mutex_;  ///< guards the two below; no other lock is taken under it
    Failure failure_;
    std::uint64_t failed_at_ = 0;
};

/// The full state of a stream. Made by the registry and never freed. When its stream has ended, the
/// record is reused for another stream of the same device, with another `id`.
struct StreamRecord : StreamState {
    std::atomic<std::uint64_t> id{0};
    std::uint32_t slot = 0;  ///< index in the registry; never changes
    int priority = 0;
    std::string name;  ///< empty: "stream <id>"; changed by name_stream() only
    WaitedFor waited;

    /// Held while the native stream is made or destroyed, and by threads that access a stream they
    /// do not own (another thread's, or a closed one). They check under it that the record still is
    /// that stream, and that it still has a native stream.
    SpinLock life;

    /// Guards `fate` and flag `poisoned`, which says that `fate` has a failure.
    std::mutex failure_mutex;
    std::shared_ptr<Fate> fate = std::make_shared<Fate>();
    /// What renew_fate() needs when the stream has ended, so that ending takes no memory. Touched
    /// by whoever begins or ends the stream, and by nobody between.
    std::shared_ptr<Fate> next_fate;

    /// The recorder, while flag `recording` is set; else null.
    std::atomic<Recorder*> recorder{nullptr};
    /// The recorder around all others that record the stream, while flag `recording` is set; else
    /// null. It is `recorder` itself unless a capture began inside a batch or another capture.
    std::atomic<Recorder*> outermost{nullptr};
    /// Index among the recorder's participants; guarded by the recorder's lock.
    std::size_t place = 0;
    /// All of this stream's work up to submission `settled_at` is ordered before further work on
    /// the stream with id `settled_by`. Guarded by `life`.
    std::uint64_t settled_at = 0;
    std::uint64_t settled_by = 0;
    /// CPU: completes with what a batch's graph did for the stream, if its submission `settled_at`
    /// waits for that. Guarded by `life`.
    CompletionRef settled;

    /// Number of Stream objects that own this record: more than one if a native handle was wrapped
    /// again. close_stream() closes the stream when the last one goes. Starts at 1.
    std::atomic<std::uint32_t> owners{1};

    // Owned by the backend.
    void* cached_event = nullptr;  ///< CUDA: the cudaEvent_t that wait_stream() records
    /// Completes with the last work of a closed stream; null once that has completed. CUDA: a
    /// cudaEvent_t. CPU: a CompletionRef*. Guarded by `life`.
    void* final_event = nullptr;
    bool owns_native = true;  ///< false for a wrapped native stream
    /// CUDA: the AwaitLine through which it waits for CPU work. Kept when the record is reused.
    void* awaits = nullptr;
    /// CUDA: while not 0, the record is not reused and keeps `final_event`. Held by notifications,
    /// which will ask for its failure, and by synchronize_device().
    std::atomic<std::uint32_t> pins{0};
    /// CUDA: submissions known to have completed. If the device is lost, only later ones fail, and
    /// the message names streams that have some.
    std::atomic<std::uint64_t> seen_complete{0};

    /// How many of its operations observers have been told of. It never falls, also when the record
    /// becomes another stream's.
    std::atomic<std::uint64_t> noted{0};

    StreamRecord* next_free = nullptr;

    /// Where ThreadSanitizer is told that a CPU stream has ended, and its work.
    const void* end_of_work() const noexcept { return &priority; }
    bool has(std::uint32_t flag) const noexcept {
        return (flags.load(std::memory_order_acquire) & flag) != 0;
    }
    void set(std::uint32_t flag) noexcept { flags.fetch_or(flag, std::memory_order_release); }
    void clear(std::uint32_t flag) noexcept { flags.fetch_and(~flag, std::memory_order_release); }
    std::string display_name() const {
        return name.empty() ? "stream " + std::to_string(id.load()) : name;
    }

    std::shared_ptr<Fate> current_fate() noexcept;
    /// Returns current_fate() if earlier work of the stream may still fail, else null. Work of CPU
    /// devices always may; of CUDA devices only if `poisoned` or `fallible` says so.
    std::shared_ptr<Fate> fallible_fate() noexcept;
    /// Sets the stream's failure unless it has one already. `at` is the submission that failed.
    void poison(const Failure& reason, std::uint64_t at) noexcept;
    /// Returns the failure, own or inherited through dependencies; null if none is known.
    Failure known_failure() noexcept { return failure_up_to(~std::uint64_t{0}); }
    /// The same, if it affects the first `submissions` submissions.
    Failure failure_up_to(std::uint64_t submissions) noexcept;
    /// Drops the dependencies of the first `submissions` submissions: they have completed and did
    /// not fail.
    void forget_dependencies(std::uint64_t submissions);
    /// Notes that this stream waited for the first `submissions` submissions of `other`, and
    /// inherits its dependencies. Does nothing if `other` is no longer the stream `other_id`. Does
    /// nothing on CPU devices: there the wait itself brings the failure, in stream order.
    void depend_on(StreamRecord& other, std::uint64_t other_id, std::uint64_t submissions);
    void depend_on(const std::shared_ptr<Fate>& other, std::uint64_t submissions);
    /// Clears the failure and returns it, or null if none is known. The first `submissions`
    /// submissions must have completed. Later work gets the fate `next`.
    Failure take_failure(std::uint64_t submissions, std::shared_ptr<Fate> next);
    /// Makes the fate that renew_fate() needs. Call it before the stream begins.
    void prepare_fate();
    /// Replaces the fate before the record is reused; its work must have completed. Holders of the
    /// old fate keep it. Once prepared it takes no memory; else it returns false if there is none.
    bool renew_fate() noexcept;
};

/// A stream that used some memory. Its record may have become another stream since: then all work
/// of the stream has completed.
struct StreamUse {
    StreamRecord* stream = nullptr;
    std::uint64_t id = 0;
    /// Returns whether the record still is that stream.
    bool is_same() const noexcept { return stream->id.load(std::memory_order_acquire) == id; }
};

inline StreamRecord& record_of(StreamState& state) noexcept {
    return static_cast<StreamRecord&>(state);
}
inline StreamRecord& record_of(StreamRef stream) noexcept {
    return record_of(Access::state(stream));
}

/// The full state of an event. Reused, with its `native`, through a pool for each device and set of
/// options. It is reused or deleted only when its Event and all graphs and recordings that name it
/// are gone (EventOwner), so for them one address is one event. (docs/adr/0020)
struct EventState {
    Backend* backend = nullptr;
    Device device = Access::device(DeviceKind::cpu, 0);
    EventOptions options;
    /// CUDA: a cudaEvent_t. CPU: a CompletionRef* for the newest record, or null; for interprocess
    /// events, a SharedEvent*.
    void* native = nullptr;
    bool recorded = false;
    bool owns_native = true;  ///< false for wrapped and imported events
    std::atomic<bool> handed_out{
        false};             ///< others may record it: the fields below may be out of date
    bool in_graph = false;  ///< CUDA: graph nodes have held `native`; launches may record it
    /// The stream's submission count covered all of its work at the record.
    bool countable = false;
    StreamRecord* stream = nullptr;  ///< of the newest record
    std::uint64_t stream_id = 0;
    std::uint64_t submissions = 0;  ///< the stream's submission count at the record
    /// CUDA: that stream's fate, if work before the record may have failed; else null.
    std::shared_ptr<Fate> fate;
    /// The capture or batch in which the newest record was made, or 0.
    std::uint64_t capture_id = 0;
    /// The recorder, with that id, that has the newest record; else null.
    std::atomic<Recorder*> recorder{nullptr};
    // For observers. Sending a batch leaves them as they are.
    std::uint64_t uid = 0;                 ///< identifies the Event for good
    std::uint64_t records = 0;             ///< how often calls and launched graphs recorded it
    StreamRecord* noted_on = nullptr;      ///< where the newest record was made
    std::uint64_t position = 0;            ///< StreamRecord::noted of that stream then
    std::atomic<void*> watched{nullptr};   ///< CUDA: the notification that polls `native` now
    std::atomic<std::uint32_t> owners{1};  ///< see EventOwner
    std::atomic<bool> alive{true};         ///< whether its Event exists
    EventState* next_free = nullptr;

    /// Returns whether it has been recorded. While `recorder` is not null, other threads may flush
    /// its batch, which changes all fields except `device`, `options` and `backend`. Read the
    /// changing ones only under the recorder's lock, or once `recorder` is null.
    bool is_recorded() const noexcept {
        return recorder.load(std::memory_order_acquire) != nullptr || recorded;
    }
};

/// Drops one owner. The last one returns the event to its pool, or deletes it. (event_pool.cpp)
void release_event(EventState& event) noexcept;

/// Keeps an event's state and native event from being reused after its Event is gone. Held by graph
/// nodes, tapes and running launches.
class EventOwner {
public:
    EventOwner() noexcept = default;
    /// Implicit, so that owners are assigned like pointers.
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
