// Runs the indices of one kernel on several threads. drain.cpp decides whether that is worthwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "core/seam/backend.hpp"
#include "cpu/executor/executor.hpp"

namespace heddle::detail::cpu {

class Fiber;
class Operation;
class Queue;

/// The measured cost of one index of a kernel.
struct IndexCost {
    const OpType* type = nullptr;  ///< null if nothing has been measured
    double ns = 0;
};

/// A kernel spread over several threads. A queue has one at a time.
///
/// The indices are split into one range per worker, and each range into subranges. A thread starts
/// with the range of its core, because that core's cache may still hold the range's memory from the
/// previous kernel. Next it takes ranges that no thread has begun, and finally it helps with the
/// remaining subranges of begun ranges.
class Spread final : public Runnable {
public:
    Spread(Queue& queue, int level) noexcept : Runnable(level), queue_(queue) {}
    void run() noexcept override;  ///< called on a worker that joins

    /// Runs the indices [begin, end) of the queue's current operation, `grain` at a time. The
    /// calling thread takes part. Returns true if all are done. Otherwise other threads still run
    /// some, and the last of those threads continues the queue. Call after prepare().
    bool start(Operation& op, std::size_t begin, std::size_t end, std::size_t grain) noexcept;
    bool prepare() noexcept;  ///< returns false if out of memory
    Failure take_failure() noexcept { return std::move(failure_); }
    /// Orders the stream after all parts, for ThreadSanitizer.
    void order_parts() noexcept;
    /// Returns the time per index in ns, measured on the starting thread's first subrange. Returns
    /// 0 if that thread got no subrange. Valid once the kernel is done.
    double index_ns() const noexcept { return index_ns_; }

private:
    struct alignas(64) Range {
        std::atomic<std::size_t> next{0};
        std::size_t end = 0;
        std::atomic<bool> begun{false};
    };
    bool take_part(bool is_starter) noexcept;  ///< returns true on the last thread to leave
    bool work_on(Range& range, bool is_starter,
                 Fiber* fiber) noexcept;  ///< returns false if it has to leave
    void run_subranges(bool is_starter, Fiber* fiber) noexcept;

    /// The addresses at which the kernel's beginning and its finished parts are released for
    /// ThreadSanitizer.
    const void* begin_order() const noexcept { return &count_; }
    const void* end_order() const noexcept { return &grain_; }

    Queue& queue_;
    Operation* op_ = nullptr;
    std::unique_ptr<Range[]> ranges_;  ///< allocated on first use
    std::size_t count_ = 0;            ///< number of ranges
    std::size_t grain_ = 1;
    int wakes_ = 1;  ///< how many sleeping workers each participating thread wakes
    double index_ns_ = 0;
    /// The number of threads taking part, plus one while the kernel is in the executor's lists.
    std::atomic<int> inside_{0};
    std::atomic<bool> exhausted_{false};  ///< all subranges have been taken, or need not run
    std::atomic<bool> failed_{false};
    Failure failure_;
};

/// Runs and times the first indices. Also runs all other indices if sharing them is not worthwhile.
/// Returns the number of indices done. Sets `index_ns` to the time per index in ns. `fiber` is as
/// in run_on().
std::size_t run_first(Fiber* fiber, const OpType& type, void* closure, std::size_t count,
                      double& index_ns);

}  // namespace heddle::detail::cpu
