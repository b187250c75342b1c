// The rows of Chrome's trace format. The host and the devices are processes of the format. Their
// rows are threads of the format: a lane of a stream, a stream's idle time, or a lane of a host
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "timeline/file/host_slices.hpp"
#include "timeline/solve/solution.hpp"

namespace heddle::detail {

struct ChromeRow {
    std::uint32_t process = 0;
    /// The row's number. It is unique among all processes, because Perfetto identifies a thread by
    /// this number alone.
    std::uint32_t thread = 0;
};

/// Assigns numbers to the rows, in the order in which viewers show them.
class ChromeRows {
public:
    static constexpr std::uint32_t host = 1;
    static std::uint32_t process_of(TraceIndex device) noexcept { return host + 1 + device; }

    ChromeRows(const Trace& trace, const Solution& solution, const std::vector<HostSlice>& slices)
        : trace_(trace), threads_(trace.threads.size()), streams_(trace.streams.size()) {
        for (const HostSlice& slice : slices) threads_[slice.thread].include(slice.lane);
        for (const Bar& bar : solution.bars) streams_[bar.stream].include(bar.lane);
        // Thread numbers begin above all process numbers, because viewers show a thread with the
        // number of its process as the main thread of that process.
        std::uint32_t next = process_of(static_cast<TraceIndex>(trace.devices.size()));
        for (Lanes& lanes : threads_) lanes.first = next, next += lanes.count;
        for (Lanes& lanes : streams_) lanes.first = next, next += lanes.count + 1;
    }

    ChromeRow of(const HostSlice& slice) const {
        return {host, threads_[slice.thread].first + slice.lane};
    }
    ChromeRow of(const Bar& bar) const { return lane(bar.stream, bar.lane); }
    ChromeRow lane(TraceIndex stream, std::uint32_t lane) const {
        return {process_of(trace_.streams[stream].device), streams_[stream].first + lane};
    }
    /// Returns the row for the stream's idle time, which is below the stream's lanes.
    ChromeRow idle(TraceIndex stream) const { return lane(stream, lanes_of_stream(stream)); }

    std::uint32_t lanes_of_thread(TraceIndex thread) const { return threads_[thread].count; }
    std::uint32_t lanes_of_stream(TraceIndex stream) const { return streams_[stream].count; }
    ChromeRow lane_of_thread(TraceIndex thread, std::uint32_t lane) const {
        return {host, threads_[thread].first + lane};
    }

private:
    struct Lanes {
        std::uint32_t first = 0, count = 1;
        void include(std::uint32_t lane) { count = std::max(count, lane + 1); }
    };
    const Trace& trace_;
    std::vector<Lanes> threads_, streams_;
};

}  // namespace heddle::detail
