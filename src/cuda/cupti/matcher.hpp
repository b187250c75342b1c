// Finds out which operations CUPTI's records are of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include <heddle/observe/observer.hpp>

namespace heddle::detail::cu {

/// What a record says of a kernel, copy or fill that has run.
struct DeviceRecord {
    std::uint32_t call = 0;        ///< CUPTI's number of the call that enqueued it
    std::uint32_t outer_call = 0;  ///< of the runtime's call around that one, or 0
    int device = 0;
    std::uint64_t native_node = 0;  ///< the graph's node that it ran for, or 0
    std::int64_t start_ns = 0, end_ns = 0;
};

/// Joins two kinds of records, which come in any order: which call was made for which operation,
/// and when what a call enqueued has run. A call may enqueue much, and an operation may take many
/// calls. Not thread-safe.
class RecordMatcher {
public:
    /// Remembers at least so many calls, and so many records without one.
    explicit RecordMatcher(std::size_t calls = 500'000, std::size_t waiting = 16'384)
        : most_calls_(calls), most_waiting_(waiting) {}

    /// Times are possible within these bounds. CUPTI gives zeroes where it has none.
    void set_possible(std::int64_t from_ns, std::int64_t to_ns) noexcept {
        from_ns_ = from_ns;
        to_ns_ = to_ns;
    }
    void add_call(std::uint32_t call, std::uint64_t operation);
    void add(const DeviceRecord& record);
    /// Returns what was found since the last time.
    std::vector<OpRun> take();
    /// Forgets all calls and records.
    void clear() noexcept;

    /// How many records had no possible times.
    std::uint64_t without_times() const noexcept { return without_times_; }

private:
    /// Returns the operation that the record is of, or 0.
    std::uint64_t find(const DeviceRecord& record) const noexcept;
    std::uint64_t find_call(std::uint32_t call) const noexcept;
    void tell(const DeviceRecord& record, std::uint64_t operation);

    using Calls = std::unordered_map<std::uint32_t, std::uint64_t>;
    const std::size_t most_calls_, most_waiting_;
    std::int64_t from_ns_ = 0, to_ns_ = 0;
    Calls newer_, older_;  ///< when the newer ones are many, the older ones are forgotten
    std::deque<DeviceRecord> waiting_;
    bool has_new_calls_ = false;
    std::vector<OpRun> found_;
    std::uint64_t without_times_ = 0;
};

}  // namespace heddle::detail::cu
