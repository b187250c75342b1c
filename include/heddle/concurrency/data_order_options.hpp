// Options of a DataOrder, and its counts.
#pragma once

#include <cstdint>

#include <heddle/detail/visible.hpp>

namespace heddle HEDDLE_VISIBLE {

/// The precision of the waits between the streams of a DataOrder.
enum class DataWaits : std::uint8_t {
    /// `exact` on CUDA devices. On CPU devices, `exact` while the stream's operations last longer
    /// than 0.7 us each, as measured at run time; otherwise `newest`.
    automatic,
    /// Waits for the newest operation of the other stream. Records no events in advance, but waits
    /// longer than necessary if that stream has later work.
    newest,
    /// Waits for the first event recorded at or after the conflicting operation. Records an event
    /// behind each operation that others may have to wait for; each stream keeps the newest 64.
    exact,
};

/// Selects the operations that a DataOrder distributes over its streams. Affects the overlap,
/// never the results.
enum class DataSpread : std::uint8_t {
    /// All operations on CUDA devices. On CPU devices, operations shorter than a wait, as measured
    /// at run time, stay on one stream.
    automatic,
    /// None: all operations use one stream, as with DataOrderOptions::streams = 1.
    never,
    /// All operations, even short ones.
    always,
};

/// Options of a DataOrder.
struct DataOrderOptions {
    /// The number of streams for the work, at most 32, not counting those for copies between host
    /// and GPU. 0 chooses two on CPU devices and eight on CUDA devices, which measured fastest, but
    /// at most StreamPool::concurrent_queues().
    int streams = 0;
    DataWaits waits = DataWaits::automatic;     ///< the precision of its streams' waits
    DataSpread spread = DataSpread::automatic;  ///< which operations are distributed
};

/// Counts of the operations and waits of a DataOrder.
struct DataOrderStats {
    std::uint64_t operations = 0;  ///< enqueued through it
    /// Waits enqueued on its own streams: for each other, and for others that use the same memory.
    std::uint64_t waits_inserted = 0;
    /// Waits between its own streams that were elided.
    std::uint64_t waits_elided = 0;
    std::uint64_t records = 0;  ///< events recorded, including those inside waits
};

/// The old name of DataOrderOptions.
using ByDataOptions [[deprecated("use DataOrderOptions")]] = DataOrderOptions;
/// The old name of DataOrderStats.
using ByDataStats [[deprecated("use DataOrderStats")]] = DataOrderStats;

}  // namespace heddle
