// Reserves ids for operations that run host functions, before these operations are enqueued.
#pragma once

#include <cstdint>

#include "core/operation/calls.hpp"

namespace heddle::detail {

/// Reserves the id of this thread's next operation, if the operation may run host functions and an
/// observer requests reports of host functions. Construct it before the operation is enqueued,
/// because the host function may run before the operation is reported. Destroy it after the report.
/// Costs one load without observers.
class FunctionMark {
public:
    FunctionMark() noexcept {
        if ((observed.load(std::memory_order_relaxed) & observe::host_functions) != 0) [[unlikely]]
            begin();
    }
    ~FunctionMark() {
        if (id_ != 0) [[unlikely]]
            end();
    }
    FunctionMark(const FunctionMark&) = delete;
    FunctionMark& operator=(const FunctionMark&) = delete;

private:
    friend bool is_being_enqueued(std::uint64_t id) noexcept;
    void begin() noexcept;
    void end() noexcept;

    std::uint64_t id_ = 0;
    bool is_timed_ = false;  ///< whether the id is that of a timed call
    FunctionMark* next_ = nullptr;
    FunctionMark* before_ = nullptr;
};

/// Returns whether a thread has a mark with this id, so that the operation may not have been
/// reported to observers yet. Thread-safe.
bool is_being_enqueued(std::uint64_t id) noexcept;

}  // namespace heddle::detail
