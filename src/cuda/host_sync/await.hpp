// Host to device: streams that wait for completions.
#pragma once

#include <cstdint>
#include <mutex>

#include "core/seam/completion.hpp"
#include "core/seam/records.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// The completions that one native stream waits for, in stream order.
///
/// The device waits for one word of pinned memory to reach 1, 2, 3, ...: one value for each wait.
/// The completions may complete in any order. The value of a wait is stored when its completion and
/// those of all earlier waits have completed. This delays nothing, because the stream could not
/// pass the earlier waits anyway. The word stays with the stream's record and is never freed,
/// because the device may still read it.
class AwaitLine {
public:
    /// Makes a line with a word allocated through `g`. Throws if there is no pinned memory.
    static AwaitLine* make(Gpu& g, const SourceLocation& where);

    /// Orders later work on `native` after `done`. A failure of `done` poisons `stream`, unless
    /// `stream` is null.
    void await(Gpu& g, cudaStream_t native, const CompletionRef& done, StreamRecord* stream,
               const SourceLocation& where);

private:
    struct Ticket;
    explicit AwaitLine(std::uint64_t* word) noexcept : word_(word) {}
    static void wake(Waiter& waiter, const Completion& done) noexcept;
    void finish(Ticket& ticket) noexcept;

    std::uint64_t* word_;

    /// Guards issued_, so that tickets have the order in which their waits are enqueued.
    std::mutex order_;
    std::uint64_t issued_ = 0;

    SpinLock lock_;  ///< guards the next two
    std::uint64_t stored_ = 0;
    Ticket* early_ = nullptr;  ///< tickets completed before an earlier one
};

}  // namespace heddle::detail::cu
