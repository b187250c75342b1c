// The cold part of streams, and events: what core keeps of them and the backends fill in.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/completion.hpp"
#include <heddle/detail/stream_state.hpp>
#include <heddle/event.hpp>

namespace heddle::detail {

/// What a stream has waited for: how far into which other streams. Remembers the newest few; forgetting is safe, it only
/// costs a redundant wait. Any thread may read and write: covers() and note() never block (a writer that meets another gives
/// up), forget() waits for a note() under way.
class WaitedFor {
public:
    bool covers(std::uint64_t stream_id, std::uint64_t submissions) const noexcept;
    void note(std::uint64_t stream_id, std::uint64_t submissions) noexcept;
    void forget() noexcept;

private:
    /// A seqlock. Versions only grow: a reader that finds the one it began with has seen no word of another write.
    struct Entry {
        std::atomic<std::uint64_t> version{0};  // odd: being written
        std::atomic<std::uint64_t> stream_id{0};
        std::atomic<std::uint64_t> submissions{0};
    };
    static void write(Entry& entry, std::uint64_t version, std::uint64_t stream_id,
                      std::uint64_t submissions) noexcept;
    static constexpr std::size_t count = 8;
    Entry entries_[count];
};

/// A tiny lock for rare, short, per-object sections.
class SpinLock {
public:
    void lock() noexcept;
    void unlock() noexcept { held_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> held_{false};
};

struct StreamRecord;
class Recorder;

/// What became of the work of one stream, until its failure is forgotten (clear_error()) or it is another stream. Shared by the
/// stream, by those that waited for it, and by events recorded on it, which may ask long afterwards. All members are thread-safe.
class Fate {
public:
    /// Makes `reason` the failure if there is none yet. `at`: the submission that failed.
    void fail(const Failure& reason, std::uint64_t at);
    /// The failure that concerns the first `submissions` pieces of work, own or come in through dependencies; null if none is known.
    Failure failure_up_to(std::uint64_t submissions);
    /// Neither a failure nor anything that one could come from.
    bool is_clean() const noexcept { return clean_.load(std::memory_order_acquire); }

    /// The stream has waited for another one, whose fate this is, when that had been given `submissions` and itself `now`. Inherits
    /// the other one's dependencies. For streams whose failures are learnt late (host functions of CUDA streams).
    void depend_on(const std::shared_ptr<Fate>& other, std::uint64_t submissions, std::uint64_t now);
    /// The first `submissions` pieces of work are done and did not fail.
    void forget_dependencies(std::uint64_t submissions);
    /// All of the work is done, but for what `next`, if not null, takes over: dependencies of later work than the first
    /// `submissions`. The failure, if there is one, stays.
    void end(Fate* next = nullptr, std::uint64_t submissions = ~std::uint64_t{0}) noexcept;

private:
    /// "Waited for that stream when that one had been given `submissions`".
    struct Dependency {
        std::shared_ptr<Fate> on;
        std::uint64_t submissions;
        std::uint64_t at;  ///< the stream's own count then: what it was given before is not concerned
    };
    Failure own_failure_up_to(std::uint64_t submissions);

    std::mutex mutex_;
    std::atomic<bool> clean_{true};
    Failure failure_;
    std::uint64_t failed_at_ = 0;
    std::vector<Dependency> dependencies_;
};

/// All of a stream. Made by the registry, never given back; `id` changes when it becomes another stream.
struct StreamRecord : StreamState {
    std::atomic<std::uint64_t> id{0};
    std::uint32_t slot = 0;  ///< of the registry's, for good
    int priority = 0;
    std::string name;  ///< empty: "stream <id>"
    WaitedFor waited;

    /// Held while the native stream is made or destroyed, and by those who touch a stream that is not theirs (of other threads, or
    /// closed): they look, under it, whether the record still is that stream, and whether it still has a native one.
    SpinLock life;

    std::mutex failure_mutex;  ///< guards `fate`, and flag `poisoned`: there is a failure in it
    std::shared_ptr<Fate> fate = std::make_shared<Fate>();

    /// What records it, with flag `recording`; and its place there, under the recorder's lock.
    std::atomic<Recorder*> recorder{nullptr};
    std::size_t place = 0;
    /// Under `life`: all of its work up to submission `settled_at` is ordered before further work on the stream with id `settled_by`.
    std::uint64_t settled_at = 0;
    std::uint64_t settled_by = 0;

    /// Stream objects that own this record. More than one when a native handle was wrapped again; close_stream() gives
    /// the stream up when the last one goes. New records have 1.
    std::atomic<std::uint32_t> owners{1};

    // Owned by the backend.
    void* cached_event = nullptr;  ///< for wait_stream: cudaEvent_t
    /// Everything it was given before it was destroyed, while that is pending. Under `life`. CPU: a CompletionRef
    void* final_event = nullptr;
    bool owns_native = true;  ///< false: wrapped
    void* awaits =
        nullptr;  ///< CUDA: what it waits for on the CPU side; stays when this becomes another stream
    std::atomic<std::uint32_t> pins{
        0};  ///< CUDA: notifications that will ask for its failure: not yet another stream
    std::atomic<std::uint64_t> seen_complete{
        0};  ///< CUDA: submissions known to be done, for the message of a lost device

    StreamRecord* next_free = nullptr;

    bool has(std::uint32_t flag) const noexcept {
        return (flags.load(std::memory_order_acquire) & flag) != 0;
    }
    void set(std::uint32_t flag) noexcept { flags.fetch_or(flag, std::memory_order_release); }
    void clear(std::uint32_t flag) noexcept { flags.fetch_and(~flag, std::memory_order_release); }
    std::string display_name() const { return name.empty() ? "stream " + std::to_string(id.load()) : name; }

    std::shared_ptr<Fate> current_fate();
    /// Makes `reason` this stream's failure if it has none yet. `at`: the submission that failed.
    void poison(const Failure& reason, std::uint64_t at);
    /// The failure, own or come in through dependencies; null if none is known.
    Failure known_failure() { return failure_up_to(~std::uint64_t{0}); }
    /// The same, if it concerns the first `submissions` pieces of work.
    Failure failure_up_to(std::uint64_t submissions);
    /// Its first `submissions` pieces of work are done and did not fail.
    void forget_dependencies(std::uint64_t submissions);
    /// This stream has waited for `other`, if the record still is the stream of that id, when that one had been given `submissions`,
    /// and inherits its dependencies. Does nothing for streams of CPU devices: a wait brings them the failure in stream order.
    void depend_on(StreamRecord& other, std::uint64_t other_id, std::uint64_t submissions);
    void depend_on(const std::shared_ptr<Fate>& other, std::uint64_t submissions);
    /// Its failure is forgotten and handed over, null if none is known. Its first `submissions` pieces of work are done; what
    /// follows has the fate `next`.
    Failure take_failure(std::uint64_t submissions, std::shared_ptr<Fate> next);
    /// Its work is done and it becomes another stream: those who may still ask keep the old fate. False: no memory for a new one.
    bool renew_fate() noexcept;
};

/// A stream that was given work on some memory. Its record may be another stream's by now: then that work has ended.
struct StreamUse {
    StreamRecord* stream = nullptr;
    std::uint64_t id = 0;
    bool is_same() const noexcept { return stream->id.load(std::memory_order_acquire) == id; }
};

inline StreamRecord& record_of(StreamState& state) noexcept { return static_cast<StreamRecord&>(state); }

/// All of an event. Kept by per-device, per-kind pools: `native` outlives one user of it. Becomes another event, or goes, when its Event
/// and all graphs and recordings that name it are gone (EventOwner), so that one address is one event to them.
struct EventState {
    Backend* backend = nullptr;
    Device device = Device::unchecked(DeviceKind::cpu, 0);
    EventOptions options;
    void* native = nullptr;  ///< cudaEvent_t; CPU: Completion* of the newest record (one reference), or null
    bool recorded = false;
    bool owns_native = true;  ///< false: wrapped or imported
    bool handed_out = false;  ///< others may record it: what follows cannot be trusted
    bool in_graph = false;    ///< CUDA: nodes of graphs have had `native`, and may record it at any launch
    bool countable = false;   ///< the stream's count meant all of its work when it was recorded
    StreamRecord* stream = nullptr;  ///< of the newest record
    std::uint64_t stream_id = 0;
    std::uint64_t submissions = 0;  ///< the stream's count when it was recorded
    std::shared_ptr<Fate> fate;  ///< of that stream, where work before the record may have failed; CPU: null
    std::uint64_t capture_id = 0;              ///< not 0: the newest record was made in that capture
    std::atomic<Recorder*> recorder{nullptr};  ///< that has it marked, with that id
    std::atomic<void*> watched{nullptr};       ///< CUDA: the notification that looks at `native` now
    std::atomic<std::uint32_t> owners{1};      ///< see EventOwner
    std::atomic<bool> alive{true};             ///< its Event is there
    EventState* next_free = nullptr;

    /// Whether it has been recorded. While a recorder has it marked, other threads may send a batch and with it change all but `device`,
    /// `options` and `backend`: those may only be read under the recorder's lock, or once `recorder` is null.
    bool is_recorded() const noexcept {
        return recorder.load(std::memory_order_acquire) != nullptr || recorded;
    }

    static Event make(EventState& state) noexcept { return Event(&state); }
};

/// One owner less; the last one gives the event back to its pool. (registry.cpp)
void release_event(EventState& event) noexcept;

/// Keeps an event's state what it is, and its native event from becoming another one's, when the Event itself is gone: for nodes of
/// graphs, tapes, and launches under way.
class EventOwner {
public:
    EventOwner() noexcept = default;
    EventOwner(EventState* event) noexcept : event_(event) { retain(); }  // as a pointer is assigned
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
    friend bool operator==(const EventOwner& a, const EventOwner& b) noexcept { return a.event_ == b.event_; }
    friend bool operator==(const EventOwner& a, std::nullptr_t) noexcept { return a.event_ == nullptr; }

private:
    void retain() noexcept {
        if (event_ != nullptr) event_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    EventState* event_ = nullptr;
};

}  // namespace heddle::detail
