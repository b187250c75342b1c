// Operations that run host functions: their ids, known before they are enqueued.
#pragma once

#include <cstdint>

#include "core/observe/calls.hpp"

namespace heddle::detail {

/// Chooses the id of the operation that this thread enqueues next, which may run host functions, if
/// an observer wants to know what those enqueue. Make it around the enqueueing and the notice to
/// observers: a host function may run, and others may learn of that, before observers are told.
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
    bool is_timed_ = false;  ///< the id is that of a timed call
    FunctionMark* next_ = nullptr;
    FunctionMark* before_ = nullptr;
};

/// Returns whether a thread has a mark with this id: observers may not have been told of it yet.
/// Thread-safe.
bool is_being_enqueued(std::uint64_t id) noexcept;

}  // namespace heddle::detail
