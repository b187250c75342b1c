#include "cuda/host_sync/completion_waits.hpp"

#include <memory>

#include "core/base/errors.hpp"
#include "core/base/report.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/host_sync/wait_gate.hpp"

namespace heddle::detail::cu {

struct CompletionWaits::Ticket : Waiter {
    CompletionWaits* line = nullptr;
    std::uint64_t number = 0;
    StreamRecord* stream = nullptr;
    std::uint64_t at = 0;  ///< the submission number of the wait
    Ticket* next_early = nullptr;
};

namespace {

/// Returns a word of pinned memory, which the host writes and the device reads. Each word has its
/// own cache line. Words are never freed.
std::uint64_t* take_word(Gpu& g, const SourceLocation& where) {
    constexpr std::size_t spacing = 64, page = 4096;
    static constinit std::mutex mutex;
    static std::byte* next = nullptr;
    static std::size_t left = 0;
    std::lock_guard lock(mutex);
    if (left == 0) {
        RelaxedCapture relaxed;
        InContext in(g);
        void* fresh = nullptr;
        // Portable, because one page serves all devices. With unified addressing, the device uses
        // the host's address.
        check(api.cudaHostAlloc(&fresh, page, cudaHostAllocPortable | cudaHostAllocMapped),
              "cudaHostAlloc", g.index, where);
        next = static_cast<std::byte*>(fresh);
        left = page / spacing;
    }
    auto* word = ::new (next) std::uint64_t{0};
    next += spacing;
    --left;
    return word;
}

/// Fallback for drivers without stream memory waits: enqueues a host function that blocks. It
/// occupies one of the driver's threads, so it may delay other host functions.
void wait_blocking(Gpu& g, cudaStream_t native, const CompletionRef& done, StreamRecord* stream,
                   std::uint64_t at, const SourceLocation& where) {
    struct BlockingWait {
        CompletionRef done;
        StreamRecord* stream;
        std::uint64_t at;
    };
    auto blocking = std::unique_ptr<BlockingWait>(new BlockingWait{done, stream, at});
    const auto wait = [](void* data) {
        InCallback in;
        std::unique_ptr<BlockingWait> b(static_cast<BlockingWait*>(data));
        block_until(*b->done);
        wait_gate.leave();
        if (b->stream != nullptr && b->done->failure() != nullptr)
            b->stream->poison(b->done->failure(), b->at);
    };
    OnStream on(g, native);
    wait_gate.enter();
    const CUresult code = api.cuLaunchHostFunc(native, wait, blocking.get());
    if (code != CUDA_SUCCESS) wait_gate.leave();
    check(code, "cuLaunchHostFunc", g.index, where);
    blocking.release();
}

}  // namespace

CompletionWaits* CompletionWaits::make(Gpu& g, const SourceLocation& where) {
    return new CompletionWaits(take_word(g, where));
}

void CompletionWaits::wait(Gpu& g, cudaStream_t native, const CompletionRef& done,
                           StreamRecord* stream, const SourceLocation& where) {
    const std::uint64_t at = stream != nullptr
                                 ? stream->submissions.load(std::memory_order_acquire) + 1
                                 : std::uint64_t{0};
    auto ticket = std::make_unique<Ticket>();
    ticket->line = this;
    ticket->stream = stream;
    ticket->at = at;
    ticket->wake = &CompletionWaits::wake;
    if (api.cuStreamWaitValue64 == nullptr)
        return wait_blocking(g, native, done, stream, at, where);
    wait_gate.enter();  // before order_ is locked, because enter() may block
    CUresult code = CUDA_SUCCESS;
    {
        std::lock_guard lock(order_);
        const OnStream on(g, native);
        code = api.cuStreamWaitValue64(native, reinterpret_cast<CUdeviceptr>(word_), issued_ + 1,
                                       CU_STREAM_WAIT_VALUE_GEQ);
        if (code == CUDA_SUCCESS) ticket->number = ++issued_;
    }
    if (code != CUDA_SUCCESS) wait_gate.leave();
    if (code == CUDA_ERROR_NOT_SUPPORTED) return wait_blocking(g, native, done, stream, at, where);
    check(code, "cuStreamWaitValue64", g.index, where);
    Ticket* released = ticket.release();  // wake() deletes it
    if (!done->add(*released)) wake(*released, *done);
}

void CompletionWaits::wake(Waiter& waiter, const Completion& done) noexcept {
    Ticket& ticket = static_cast<Ticket&>(waiter);
    if (done.failure() != nullptr && ticket.stream != nullptr) {
        try {
            ticket.stream->poison(done.failure(), ticket.at);
        } catch (...) {
            report(std::current_exception());
        }
    }
    // finish() lets the device continue. After that, the stream may complete and be closed, and its
    // record may be reused.
    ticket.line->finish(ticket);
}

void CompletionWaits::finish(Ticket& ticket) noexcept {
    Ticket* done = nullptr;
    {
        std::lock_guard lock(lock_);
        ticket.next_early = early_;
        early_ = &ticket;
        const std::uint64_t before = stored_;
        for (bool found = true; found;) {
            found = false;
            for (Ticket** at = &early_; *at != nullptr; at = &(*at)->next_early) {
                Ticket* t = *at;
                if (t->number != stored_ + 1) continue;
                *at = t->next_early;
                t->next_early = done;
                done = t;
                ++stored_;
                found = true;
                break;
            }
        }
        if (stored_ != before) std::atomic_ref(*word_).store(stored_, std::memory_order_release);
    }
    std::size_t ended = 0;
    for (; done != nullptr; ++ended) delete std::exchange(done, done->next_early);
    wait_gate.leave(ended);
}

void CudaBackend::wait_completion(StreamRecord& waiter, CompletionRef done,
                                  const SourceLocation& where) {
    if (done->is_done()) {
        Submission submission(waiter, where);
        // No wait is needed, but a failure of `done` affects the stream's later work and its
        // waiters. Counts a submission, because fork_join() does not join a branch without
        // submissions.
        if (done->failure() != nullptr)
            waiter.poison(done->failure(), waiter.submissions.load(std::memory_order_acquire) + 1);
        return submission.count();
    }
    if (capture_of(waiter) != 0)
        usage_error({"wait_stream", where, waiter},
                    "the stream is capturing, and a graph cannot wait for a stream of a CPU "
                    "device: wait for that stream before the capture begins");
    Gpu& g = gpu_of(waiter);
    std::atomic_ref<void*> slot(waiter.completion_waits);
    auto* line = static_cast<CompletionWaits*>(slot.load(std::memory_order_acquire));
    if (line == nullptr) {
        CompletionWaits* fresh = CompletionWaits::make(g, where);
        void* expected = nullptr;
        // If another thread was faster, this thread's line and its word leak.
        line = slot.compare_exchange_strong(expected, fresh, std::memory_order_acq_rel)
                   ? fresh
                   : static_cast<CompletionWaits*>(expected);
    }
    // A failure may become known only after other streams have waited for this one.
    waiter.set(stream_flag::fallible);
    Submission submission(waiter, where);
    line->wait(g, native_of(waiter), done, &waiter, where);
    submission.count();
}

}  // namespace heddle::detail::cu
