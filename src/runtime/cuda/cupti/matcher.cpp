#include "cuda/cupti/matcher.hpp"

#include <utility>

#include "cuda/timing/native_nodes.hpp"

namespace heddle::detail::cu {

void RecordMatcher::add_call(std::uint32_t call, std::uint64_t operation) {
    if (operation == 0) return;
    if (newer_.size() >= most_calls_) {
        older_ = std::move(newer_);
        newer_ = {};
    }
    newer_.insert_or_assign(call, operation);
    has_new_calls_ = true;
}

std::uint64_t RecordMatcher::find_call(std::uint32_t call) const noexcept {
    if (call == 0) return 0;
    if (const auto found = newer_.find(call); found != newer_.end()) return found->second;
    const auto found = older_.find(call);
    return found != older_.end() ? found->second : 0;
}

std::uint64_t RecordMatcher::find(const DeviceRecord& record) const noexcept {
    const std::uint64_t found = find_call(record.call);
    return found != 0 ? found : find_call(record.outer_call);
}

void RecordMatcher::add(const DeviceRecord& record) {
    const bool is_possible = record.start_ns > 0 && record.start_ns >= from_ns_ &&
                             record.end_ns >= record.start_ns && record.end_ns <= to_ns_;
    if (!is_possible) {
        ++without_times_;
        return;
    }
    if (const std::uint64_t operation = find(record)) return tell(record, operation);
    // The call is unknown: the work was enqueued outside heddle, or CUPTI reports the call later.
    if (waiting_.size() >= most_waiting_) waiting_.pop_front();
    waiting_.push_back(record);
}

void RecordMatcher::tell(const DeviceRecord& record, std::uint64_t operation) {
    OpRun run{.id = operation,
              .start_ns = record.start_ns,
              .end_ns = record.end_ns,
              .clock = record.device,
              .measured_by = DeviceClock::cupti};
    if (const auto node = NativeNodes::find(record.native_node)) run.node = *node;
    found_.push_back(run);
}

std::vector<OpRun> RecordMatcher::take() {
    if (std::exchange(has_new_calls_, false)) {
        std::deque<DeviceRecord> still_waiting;
        for (const DeviceRecord& record : waiting_) {
            if (const std::uint64_t operation = find(record)) tell(record, operation);
            else still_waiting.push_back(record);
        }
        waiting_ = std::move(still_waiting);
    }
    return std::exchange(found_, {});
}

void RecordMatcher::clear() noexcept {
    newer_.clear();
    older_.clear();
    waiting_.clear();
    found_.clear();
}

}  // namespace heddle::detail::cu
