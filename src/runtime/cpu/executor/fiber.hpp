// Presents the work of each CPU stream to ThreadSanitizer as a separate thread (a fiber), whichever
// worker runs it. ThreadSanitizer then finds races between streams even if the same worker ran
// their work. (docs/adr/0031)
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include "core/base/thread_sanitizer.hpp"
#include "core/failure/bad_index.hpp"
#include <heddle/stream/detail/host_op.hpp>

namespace heddle::detail::cpu {

/// Runs work sequentially. Only one thread at a time may use a fiber.
///
/// User code runs on the fiber's own system thread, with its own stack and thread_local variables.
/// On a worker, all streams would share these, and ThreadSanitizer would report every address that
/// two streams use. The caller blocks until the work is done.
///
/// acquire() and release() are as in core/base/thread_sanitizer.hpp, but for the fiber. Using a
/// fiber does not order it with the calling thread.
class Fiber {
public:
    /// Returns null without ThreadSanitizer, or if out of memory.
    static Fiber* make(const char* name) noexcept;
    /// Ends the fiber. Does not block.
    void end() noexcept;

    void acquire(const void* address) noexcept;
    void release(const void* address) noexcept;
    /// Calls type.run(). Rethrows its exception; the calling thread is then ordered after the call.
    void run(const OpType& type, void* self, std::size_t begin, std::size_t end);
    /// Returns the duration of the last run() by the decision clock, in ns, without the switch to
    /// the fiber. Not inline: the caller would read memory that another thread wrote, and
    /// ThreadSanitizer would report it.
    std::int64_t took_ns() const noexcept;
    /// Calls type.complete(). Creates the same order as run() and, if there is a failure, also the
    /// reverse order.
    void complete(const OpType& type, void* self, std::exception_ptr failure);
    /// Destroys a closure made by box(), and frees it.
    void destroy(const OpType& type, void* self) noexcept;
    /// Loads an int atomically, with acquire order.
    int load(const int* value) noexcept;

private:
    enum class Call : std::uint8_t { none, run, complete, destroy, end };

    static void* serve(void* self) noexcept;
    void start_thread() noexcept;
    bool call(Call what, const OpType& type, void* self) noexcept;
    void make_call() noexcept;
    void run_work();
    void rethrow();

    void* fiber_ = nullptr;  ///< ThreadSanitizer's fiber
    void* order_ = nullptr;  ///< the address for order between the fiber and the calling thread
    bool has_thread_ = false;
    std::uint32_t is_called_ = 0;  ///< a futex: 1 while the fiber's thread has a call to run
    Call call_ = Call::none;
    const OpType* type_ = nullptr;
    void* self_ = nullptr;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::int64_t took_ns_ = 0;
    std::uint64_t parent_ = 0;  ///< see RunsOperation
    bool has_thrown_ = false;
    std::exception_ptr failure_;
    std::exception_ptr thrown_;
    Fiber* next_free_ = nullptr;
};

/// Runs [begin, end) of a closure on the fiber, or on the calling thread if `fiber` is null.
inline void run_on(Fiber* fiber, const OpType& type, void* self, std::size_t begin,
                   std::size_t end) {
    if (fiber == nullptr) [[likely]]
        return run_with_checks([&] { type.run(self, begin, end); });
    fiber->run(type, self, begin, end);
}

/// Calls type.complete() on the fiber, or on the calling thread if `fiber` is null.
inline void complete_on(Fiber* fiber, const OpType& type, void* self, std::exception_ptr failure) {
    if (fiber == nullptr) [[likely]]
        return run_with_checks([&] { type.complete(self, std::move(failure)); });
    fiber->complete(type, self, std::move(failure));
}

/// Moves a closure to a separate block, and releases that block for ThreadSanitizer. The closure
/// cannot stay in its queue's memory, because queues reuse memory under heddle's locks, and
/// ThreadSanitizer does not treat these as order between streams. Aborts if out of memory, as
/// ThreadSanitizer does.
void* box(const OpType& type, void* self) noexcept;

/// acquire_for_frees() orders all later free_block() calls after the work released at `address`. It
/// does not order the calling thread. free_block() frees memory that streams have used.
void acquire_for_frees(const void* address) noexcept;
void free_block(void* block) noexcept;

void forget_fibers() noexcept;  ///< called in the child of a fork

}  // namespace heddle::detail::cpu
