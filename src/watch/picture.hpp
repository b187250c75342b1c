// A snapshot of all pending work: streams, threads, and the streams that will complete each
// completion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/failure/failure.hpp"
#include "core/observe/activity.hpp"
#include "core/observe/imports.hpp"
#include "core/seam/backend.hpp"
#include "core/stream/recorded_calls.hpp"
#include "watch/progress.hpp"

namespace heddle::detail {

/// A stream of the snapshot, usually with pending work.
struct StreamFacts {
    StreamRecord* record = nullptr;
    std::uint64_t key = 0;
    std::string name;  ///< 'solver', or stream 7: quoted if the program has set it
    Device device = Access::device(DeviceKind::cpu, 0);
    Looked looked = Looked::refused;
    StreamLook look = {};
    RecordingLook recording = {};
    std::vector<FlightEntry> flight = {};
    const FlightEntry* at = nullptr;  ///< entry of the operation that it is at, or null
    std::int64_t still_ns = 0;        ///< how long it has not advanced; 0 if unknown
    /// Whether the stream did not advance between the first and the second look. So the facts of
    /// all steady streams were true at one moment between the looks.
    bool is_steady = false;
    bool is_overtaken = false;  ///< meanwhile, more urgent streams completed work and received more
    /// Threads that run its work, as indices into Snapshot::threads.
    std::vector<std::size_t> runners = {};

    bool is_recorded() const noexcept { return recording.is_there && recording.operations != 0; }
};

/// A stream that has failed: it drops new work.
struct FailedStream {
    std::string name;
    std::shared_ptr<const FailedWork> failure;
};

/// The stream that will complete a completion.
struct Promised {
    std::size_t stream;  ///< index into Snapshot::streams
    std::size_t after;   ///< after this many of its operations
};

struct Snapshot {
    std::int64_t now_ns = 0;
    std::vector<StreamFacts> streams = {};
    std::vector<FailedStream> failed = {};
    std::vector<ThreadActivity::Seen> threads = {};
    std::vector<bool> steady_threads = {};    ///< as StreamFacts::is_steady
    std::vector<std::int64_t> waits_ns = {};  ///< how long each has been seen to wait, in ns
    std::unordered_map<const void*, Promised> promises = {};
    /// The completions that were promised in the second look.
    std::unordered_set<const void*> promised_again = {};
    std::vector<std::string> unseen = {};  ///< the parts that could not be looked at
    std::vector<SharedWait> shared_waits = {};
    std::vector<Import> imports = {};
    /// True if no source of completions was missed.
    bool is_whole = true;
    int workers = 0;

    /// Returns the stream's index. Returns -1 if it has nothing pending.
    std::ptrdiff_t find(std::uint64_t key) const noexcept;
    /// Returns the stream that will complete this completion. Returns null if there is none.
    const Promised* target_of(const void* completion) const noexcept;
    /// Returns whether it is certain that no pending work will complete it.
    bool is_lost(const void* completion) const noexcept;
    /// Returns the wait for another process's record that this completion belongs to. Returns null
    /// if there is none.
    const SharedWait* shared_wait_of(const void* completion) const noexcept;
};

/// Takes a snapshot. `progress` may be null. `idle`: includes streams without pending work, for
/// their last operations.
Snapshot take_snapshot(Progress* progress, bool idle = false);

/// Returns a stream's name in quotes, or "stream 7" if the program has set none. Adds to `unseen`
/// if the name could not be read.
std::string name_of_stream(StreamRecord& stream, std::vector<std::string>& unseen);

}  // namespace heddle::detail
