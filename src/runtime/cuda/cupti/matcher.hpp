// Matches CUPTI's records to operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include <heddle/operation/observer.hpp>

namespace heddle::detail::cu {

/// The fields that heddle uses from CUPTI's record of a kernel, copy or fill.
struct DeviceRecord {
    std::uint32_t call = 0;        ///< CUPTI's id of the call that enqueued it
    std::uint32_t outer_call = 0;  ///< id of the runtime call around that call, or 0
    int device = 0;
    std::uint64_t native_node = 0;  ///< the native graph node of this work, or 0
    std::int64_t start_ns = 0, end_ns = 0;
};

/// Joins two kinds of records, which arrive in any order: one has a call's operation, the other the
/// times of work that a call enqueued. A call may enqueue several operations, and an operation
/// may make several calls. Not thread-safe.
class RecordMatcher {
public:
    /// Keeps at least the newest `calls` calls, and the newest `waiting` records whose call is
    /// unknown so far.
    explicit RecordMatcher(std::size_t calls = 500'000, std::size_t waiting = 16'384)
        : most_calls_(calls), most_waiting_(waiting) {}

    /// Sets the bounds of valid times. CUPTI reports 0 for unknown times.
    void set_possible(std::int64_t from_ns, std::int64_t to_ns) noexcept {
        from_ns_ = from_ns;
        to_ns_ = to_ns;
    }
    void add_call(std::uint32_t call, std::uint64_t operation);
    void add(const DeviceRecord& record);
    /// Returns the runs found since the last take().
    std::vector<OpRun> take();
    /// Forgets all calls and records.
    void clear() noexcept;

    /// Returns the number of records without valid times.
    std::uint64_t without_times() const noexcept { return without_times_; }

private:
    /// Returns the operation that the record belongs to, or 0.
    std::uint64_t find(const DeviceRecord& record) const noexcept;
    std::uint64_t find_call(std::uint32_t call) const noexcept;
    void tell(const DeviceRecord& record, std::uint64_t operation);

    using Calls = std::unordered_map<std::uint32_t, std::uint64_t>;
    const std::size_t most_calls_, most_waiting_;
    std::int64_t from_ns_ = 0, to_ns_ = 0;
    Calls newer_, older_;  ///< once newer_ is full, it replaces older_
    std::deque<DeviceRecord> waiting_;
    bool has_new_calls_ = false;
    std::vector<OpRun> found_;
    std::uint64_t without_times_ = 0;
};

}  // namespace heddle::detail::cu
