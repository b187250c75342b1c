// A snapshot of all pending work: the streams, the threads, and for each completion the stream that
// will complete it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/failure/failure.hpp"
#include "core/operation/activity.hpp"
#include "core/operation/imports.hpp"
#include "core/seam/backend.hpp"
#include "core/stream/recorded_calls.hpp"
#include "watch/progress.hpp"

namespace heddle::detail {

/// A stream of the snapshot, usually with pending work.
struct StreamFacts {
    StreamRecord* record = nullptr;
    std::uint64_t key = 0;
    std::string name;  ///< in quotes if the program has set it ('solver'), otherwise "stream 7"
    Device device = Access::device(DeviceKind::cpu, 0);
    Looked looked = Looked::refused;
    StreamLook look = {};
    RecordingLook recording = {};
    std::vector<FlightEntry> flight = {};
    const FlightEntry* at = nullptr;  ///< the entry of its current operation, or null
    std::int64_t still_ns = 0;        ///< ns since it last advanced; 0 if unknown
    /// True if the stream did not advance between the first and the second look. So there was a
    /// moment at which the facts about all steady streams were true.
    bool is_steady = false;
    /// Whether more urgent streams have completed work and received more since this stream last
    /// advanced.
    bool is_overtaken = false;
    /// Threads that run its work, as indices into Snapshot::threads.
    std::vector<std::size_t> runners = {};

    bool is_recorded() const noexcept { return recording.is_there && recording.operations != 0; }
};

/// A stream that has failed and therefore drops new work.
struct FailedStream {
    std::string name;
    std::shared_ptr<const FailedWork> failure;
};

/// The stream that will complete a completion.
struct Promised {
    std::size_t stream;  ///< index into Snapshot::streams
    std::size_t after;   ///< the number of the stream's operations up to the completion
};

struct Snapshot {
    std::int64_t now_ns = 0;
    std::vector<StreamFacts> streams = {};
    std::vector<FailedStream> failed = {};
    std::vector<ThreadActivity::Seen> threads = {};
    std::vector<bool> steady_threads = {};    ///< by thread: same meaning as StreamFacts::is_steady
    std::vector<std::int64_t> waits_ns = {};  ///< by thread: how long it has been waiting, in ns
    std::unordered_map<const void*, Promised> promises = {};
    /// The completions that were promised in the second look.
    std::unordered_set<const void*> promised_again = {};
    std::vector<std::string> unseen = {};  ///< names of the things that could not be read
    std::vector<SharedWait> shared_waits = {};
    std::vector<Import> imports = {};
    /// True if every source of completions was read.
    bool is_whole = true;
    int workers = 0;

    /// Returns the stream's index, or -1 if nothing is pending on the stream.
    std::ptrdiff_t find(std::uint64_t key) const noexcept;
    /// Returns the stream that will complete this completion. Returns null if there is none.
    const Promised* target_of(const void* completion) const noexcept;
    /// Returns whether it is certain that no pending work will ever complete this completion.
    bool is_lost(const void* completion) const noexcept;
    /// This completion may end a wait for an event record by another process. Returns that wait, or
    /// null if there is none.
    const SharedWait* shared_wait_of(const void* completion) const noexcept;
};

/// Takes a snapshot. `progress` may be null. If `idle` is true, includes streams without pending
/// work, to show their last operations.
Snapshot take_snapshot(Progress* progress, bool idle = false);

/// Returns a stream's name in quotes, or "stream 7" if the program has set none. If the name cannot
/// be read, adds a message to `unseen`.
std::string name_of_stream(StreamRecord& stream, std::vector<std::string>& unseen);

}  // namespace heddle::detail
