// All that is pending at one moment, as it was found: streams, threads, and who completes which
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

/// A stream with something pending.
struct StreamFacts {
    StreamRecord* record = nullptr;
    std::uint64_t key = 0;
    std::string name;  ///< 'solver', or stream 7: with quotes if somebody gave it
    Device device = Access::device(DeviceKind::cpu, 0);
    Looked looked = Looked::refused;
    StreamLook look = {};
    RecordingLook recording = {};
    std::vector<FlightEntry> flight = {};
    const FlightEntry* at = nullptr;  ///< the entry of the operation that it is at, or null
    std::int64_t still_ns = 0;        ///< since when it has not moved; 0: not known
    /// It had not moved when all was looked at once more: what is told of it was so at one moment,
    /// together with all else that is steady.
    bool is_steady = false;
    bool is_overtaken = false;  ///< more urgent streams got work, and did it, meanwhile
    /// Threads that run its work, as indices into Snapshot::threads.
    std::vector<std::size_t> runners = {};

    bool is_recorded() const noexcept { return recording.is_there && recording.operations != 0; }
};

/// A stream that has failed: it drops what it is given.
struct FailedStream {
    std::string name;
    std::shared_ptr<const FailedWork> failure;
};

/// Who will complete a completion.
struct Promised {
    std::size_t stream;  ///< index into Snapshot::streams
    std::size_t after;   ///< after how many of its operations
};

struct Snapshot {
    std::int64_t now_ns = 0;
    std::vector<StreamFacts> streams = {};
    std::vector<FailedStream> failed = {};
    std::vector<ThreadActivity::Seen> threads = {};
    std::vector<bool> steady_threads = {};    ///< as StreamFacts::is_steady
    std::vector<std::int64_t> waits_ns = {};  ///< how long each has been seen to wait
    std::unordered_map<const void*, Promised> promises = {};
    /// Those that were there when all was looked at once more.
    std::unordered_set<const void*> promised_again = {};
    std::vector<std::string> unseen = {};  ///< what could not be looked at
    std::vector<SharedWait> shared_waits = {};
    std::vector<Import> imports = {};
    /// Nothing was missed by which a completion could come.
    bool is_whole = true;
    int workers = 0;

    /// Returns the stream's index, or -1 if nothing of it is pending.
    std::ptrdiff_t find(std::uint64_t key) const noexcept;
    /// Returns the stream that will complete this completion, or null.
    const Promised* target_of(const void* completion) const noexcept;
    /// Returns whether nothing that is under way completes it.
    bool is_lost(const void* completion) const noexcept;
    /// Returns the wait for another process's record that this completion is of, or null.
    const SharedWait* shared_wait_of(const void* completion) const noexcept;
};

/// Looks at everything. `progress` may be null. `idle`: with streams that have nothing pending, for
/// their last operations.
Snapshot take_snapshot(Progress* progress, bool idle = false);

/// Returns a stream's name with quotes, or without if nobody gave it. Adds to `unseen` if it could
/// not be looked at.
std::string name_of_stream(StreamRecord& stream, std::vector<std::string>& unseen);

}  // namespace heddle::detail
