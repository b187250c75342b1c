// Tables shared by the threads of a recording: strings, streams and graphs. Each row has an index.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Strings, each stored once. Thread-safe. Index 0 is the empty string.
class StringTable {
public:
    struct Kept {
        TraceIndex index;
        const char* text;  ///< valid while the table exists
    };
    StringTable();
    Kept keep(std::string_view text);
    std::vector<std::string> all() const;

private:
    mutable std::mutex mutex_;
    std::deque<std::string> texts_;
    std::unordered_map<std::string_view, TraceIndex> index_;
};

/// The streams and devices of the recorded operations. Thread-safe.
class StreamRows {
public:
    explicit StreamRows(StringTable& strings) : strings_(strings) {}
    TraceIndex keep(StreamRef stream);
    TraceIndex keep(Device device);
    std::vector<TraceStream> streams() const;
    std::vector<TraceDevice> devices() const;

private:
    TraceIndex index_of(Device device);  ///< call with the mutex held
    StringTable& strings_;
    mutable std::mutex mutex_;
    std::vector<TraceStream> streams_;
    std::unordered_map<std::uint64_t, TraceIndex> index_;  ///< by id
    std::vector<TraceDevice> devices_;
};

/// The launched graphs, with the accesses of each node. Thread-safe.
class GraphTable {
public:
    explicit GraphTable(StringTable& strings) : strings_(strings) {}
    TraceIndex keep(const GraphShape& shape, bool is_batch);
    /// Appends the graphs and their accesses to a trace.
    void write(Trace& trace) const;

private:
    StringTable& strings_;
    mutable std::mutex mutex_;
    std::vector<TraceGraph> graphs_;
    std::vector<TraceAccess> accesses_;
    std::unordered_map<std::uint64_t, TraceIndex> index_;  ///< by id
};

TraceAccess trace_access(const OpAccess& access) noexcept;

}  // namespace heddle::detail
