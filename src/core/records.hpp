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
/// costs a redundant wait. Readers and writers never block: a writer that meets another gives up.
class WaitedFor {
public:
    bool covers(std::uint64_t stream_id, std::uint64_t submissions) const noexcept;
    void note(std::uint64_t stream_id, std::uint64_t submissions) noexcept;
    void forget() noexcept;

private:
    struct Entry {
        std::atomic<std::uint32_t> version{0};  // odd: being written
        std::atomic<std::uint64_t> stream_id{0};
        std::atomic<std::uint64_t> submissions{0};
    };
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
struct Recording;

/// "This stream waited for that one when that one had been given `submissions`": kept for streams whose failure is learnt
/// late (host functions of CUDA streams).
struct Dependency {
    StreamRecord* stream;
    std::uint64_t stream_id;
    std::uint64_t submissions;
    std::uint64_t at;  ///< this stream's own count when it waited: what it was given before is not concerned
};

/// All of a stream. Made by the registry, never given back; `id` changes when it becomes another stream.
struct StreamRecord : StreamState {
    std::atomic<std::uint64_t> id{0};
    int priority = 0;
    std::string name;  ///< empty: "stream <id>"
    WaitedFor waited;

    /// Held while the native stream is destroyed, and by those who touch it on behalf of freed memory.
    SpinLock life;

    std::mutex failure_mutex;  ///< guards the next three
    Failure failure;           ///< set once, with flag `poisoned`
    std::uint64_t failed_at = 0;
    std::vector<Dependency> dependencies;

    /// What records it, with flag `recording`; and its place there.
    std::atomic<Recording*> recording{nullptr};
    std::size_t lane = 0;
    /// When it had been given this much, all of it was before what that stream is given next.
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

    /// Makes `reason` this stream's failure if it has none yet. `at`: the submission that failed.
    void poison(Failure reason, std::uint64_t at);
    /// The failure, own or come in through dependencies; null if none is known.
    Failure known_failure();
    /// The same, if it concerns the first `submissions` pieces of work.
    Failure failure_up_to(std::uint64_t submissions);
    /// Its first `submissions` pieces of work are done and did not fail.
    void forget_dependencies(std::uint64_t submissions);
    /// This stream has waited for `other` when that one had been given `submissions`, and inherits its dependencies.
    void depend_on(StreamRecord& other, std::uint64_t submissions);
};

inline StreamRecord& record_of(StreamState& state) noexcept { return static_cast<StreamRecord&>(state); }

/// All of an event. Kept by per-device, per-kind pools: `native` outlives one user of it.
struct EventState {
    Backend* backend = nullptr;
    Device device = Device::unchecked(DeviceKind::cpu, 0);
    EventOptions options;
    void* native = nullptr;  ///< cudaEvent_t; CPU: Completion* of the newest record (one reference), or null
    bool recorded = false;
    bool owns_native = true;         ///< false: wrapped or imported
    bool handed_out = false;         ///< others may record it: what follows cannot be trusted
    bool countable = false;          ///< the stream's count meant all of its work when it was recorded
    StreamRecord* stream = nullptr;  ///< of the newest record
    std::uint64_t stream_id = 0;
    std::uint64_t submissions = 0;               ///< the stream's count when it was recorded
    std::uint64_t capture_id = 0;                ///< not 0: the newest record was made in that capture
    std::atomic<Recording*> recording{nullptr};  ///< that has it marked, with that id
    std::atomic<void*> watched{nullptr};         ///< CUDA: the notification that looks at `native` now
    EventState* next_free = nullptr;

    static Event make(EventState& state) noexcept { return Event(&state); }
};

}  // namespace heddle::detail
