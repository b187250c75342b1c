// Kernels spread over several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "core/backend.hpp"
#include "cpu/executor.hpp"

namespace heddle::detail::cpu {

class Operation;
class Queue;

/// What an index of a kernel takes, as seen the last time.
struct IndexCost {
    const OpType* type = nullptr;  ///< null: nothing is known
    double ns = 0;
};

/// A kernel spread over several threads. One at a time in a queue.
///
/// The indices are cut into ranges, one for each worker, and each range into pieces. A thread begins with the range of the core it
/// runs on, so that kernels over the same memory, one after the other, find it in that core's cache; then with ranges
/// that no one has begun; then it helps with what is left of the others.
class Spread final : public Runnable {
public:
    Spread(Queue& queue, int level) noexcept : Runnable(level), queue_(queue) {}
    void run() noexcept override;  ///< a worker joins in

    /// Starts with the indices [begin, end) of the queue's operation at hand, `grain` at a time; the caller takes part. True: all
    /// done. False: other threads are at it, and the last of them goes on with the queue. After prepare().
    bool start(Operation& op, std::size_t begin, std::size_t end, std::size_t grain) noexcept;
    bool prepare() noexcept;  ///< false: there is no memory for it
    Failure take_failure() noexcept { return std::move(failure_); }
    /// What an index took, by the first piece of the thread that started it. Once it is done.
    double index_ns() const noexcept { return index_ns_; }

private:
    struct alignas(64) Range {
        std::atomic<std::size_t> next{0};
        std::size_t end = 0;
        std::atomic<bool> begun{false};
    };
    bool take_part(bool is_starter) noexcept;              ///< true: was the last one out
    bool work_on(Range& range, bool is_starter) noexcept;  ///< false: has to leave
    void run_pieces(bool is_starter) noexcept;

    Queue& queue_;
    Operation* op_ = nullptr;
    std::unique_ptr<Range[]> ranges_;  ///< made when first needed
    std::size_t count_ = 0;            ///< of them
    std::size_t grain_ = 1;
    double index_ns_ = 0;
    std::atomic<int> inside_{0};          ///< threads taking part, and one for being in the executor's lists
    std::atomic<bool> exhausted_{false};  ///< every piece has been taken, or need not be
    std::atomic<bool> failed_{false};
    Failure failure_;
};

/// How much an index costs is unknown, so the first ones are timed. Runs them, and all the rest too if sharing it is not worth while.
/// Returns how many are done; `index_ns` is what one of them took.
std::size_t run_first(const OpType& type, void* closure, std::size_t count, double& index_ns);

}  // namespace heddle::detail::cpu
