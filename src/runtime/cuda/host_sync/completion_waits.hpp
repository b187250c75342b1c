// Host to device: makes streams wait for completions.
#pragma once

#include <cstdint>
#include <mutex>

#include "core/seam/completion.hpp"
#include "core/seam/records.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// The completions that one native stream waits for, in stream order.
///
/// Wait number n is a wait of the device until a word of pinned memory is at least n. The host
/// stores n once the completions of waits 1 to n have all completed, in any order. That delays no
/// work, because the stream passes its waits in order. The word stays with the stream's record and
/// is never freed, because the device may still read it.
class CompletionWaits {
public:
    /// Makes a line, whose word is allocated through `g`. Throws if no memory can be pinned.
    static CompletionWaits* make(Gpu& g, const SourceLocation& where);

    /// Orders later work on `native` after `done`. A failure of `done` poisons `stream`, unless
    /// `stream` is null.
    void wait(Gpu& g, cudaStream_t native, const CompletionRef& done, StreamRecord* stream,
              const SourceLocation& where);

private:
    struct Ticket;
    explicit CompletionWaits(std::uint64_t* word) noexcept : word_(word) {}
    static void wake(Waiter& waiter, const Completion& done) noexcept;
    void finish(Ticket& ticket) noexcept;

    std::uint64_t* word_;

    /// Guards issued_: tickets are numbered in the order in which their waits are enqueued.
    std::mutex order_;
    std::uint64_t issued_ = 0;

    SpinLock lock_;  ///< guards the next two
    std::uint64_t stored_ = 0;
    Ticket* early_ = nullptr;  ///< tickets that completed before an earlier ticket
};

}  // namespace heddle::detail::cu
