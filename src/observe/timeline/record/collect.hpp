// Makes a trace from the records of threads.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "timeline/record/device_times.hpp"
#include "timeline/record/log.hpp"
#include "timeline/trace.hpp"

namespace heddle::detail {

class TraceCollector {
public:
    using Names = std::unordered_map<std::uint64_t, std::string>;

    /// Fills `trace`, whose base must be set already. `memory_names` has the names of allocations
    /// by id.
    TraceCollector(Trace& trace, const RecordTables& tables, const Names& memory_names)
        : trace_(trace), tables_(tables), memory_names_(memory_names) {}

    /// Adds the records of one thread, and names the thread.
    void add(const ThreadLog& log, const std::string& name);
    /// Sorts the operations and sets their times. Call it once, after all threads were added.
    void finish();

private:
    struct Run {
        std::uint64_t id;
        std::int64_t node;
        Moment start, end;
        bool has_times;
        std::uint32_t workers;
        RunResult result;
    };
    Moment moment(std::int64_t ns) const noexcept { return ns - trace_.base_ns; }
    void add_ops(const Slot* slots, std::size_t count, TraceIndex thread);
    /// Reads one operation. Returns the number of its slots.
    std::size_t add_op(const Slot* slot, TraceIndex thread);
    void add_run(const RunSlot& slot);
    void give_times();
    void name_memory();

    Trace& trace_;
    const RecordTables& tables_;
    const Names& memory_names_;
    std::vector<Run> runs_;
    std::vector<DeviceRun> device_runs_;
    std::vector<DeviceReading> readings_;
    std::vector<std::pair<TraceIndex, std::string>> thread_names_;
};

}  // namespace heddle::detail
