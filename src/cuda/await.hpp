// From the host to the device: streams that wait for completions.
#pragma once

#include <cstdint>
#include <mutex>

#include "core/completion.hpp"
#include "core/records.hpp"
#include "cuda/gpu.hpp"

namespace heddle::detail::cu {

/// The completions that one native stream waits for, in its order. The device waits for one word of pinned
/// memory to reach 1, 2, 3, ...: one value for each wait. Completions happen in any order; a value is stored
/// only once all earlier ones are done, which holds nothing up, because the stream would not get past the
/// earlier wait anyway. So the word is never given back while the device may still look at it: it stays with
/// the stream's record for good.
class AwaitLine {
public:
    /// With a word on `g`. Throws when there is no pinned memory.
    static AwaitLine* make(Gpu& g, const SourceLocation& where);

    /// What `native` is given from now on comes after `done`. A failure in it poisons `stream` (null:
    /// nobody).
    void await(Gpu& g, cudaStream_t native, const CompletionRef& done, StreamRecord* stream,
               const SourceLocation& where);

private:
    struct Ticket;
    explicit AwaitLine(std::uint64_t* word) noexcept : word_(word) {}
    static void wake(Waiter& waiter, const Completion& done) noexcept;
    void finish(Ticket& ticket) noexcept;

    std::uint64_t* word_;

    std::mutex order_;  ///< tickets are numbered in the order in which the stream is given the waits
    std::uint64_t issued_ = 0;

    SpinLock lock_;  ///< guards the next two
    std::uint64_t stored_ = 0;
    Ticket* early_ = nullptr;  ///< done before one of an earlier number
};

}  // namespace heddle::detail::cu
