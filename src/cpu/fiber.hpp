// What ThreadSanitizer takes for a thread: the work of one CPU stream, whichever worker runs it. So
// it finds races between streams also if one worker happened to run both. (docs/adr/0031)
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include "core/base/thread_sanitizer.hpp"
#include <heddle/detail/host_op.hpp>

namespace heddle::detail::cpu {

/// Work that runs one after the other. One thread at a time may use it.
///
/// User code runs on a machine thread of the fiber's own, with a stack and thread_local variables
/// that no other fiber has: on the worker's, which all streams share, ThreadSanitizer would report
/// every address that two of them use. The caller blocks meanwhile.
///
/// acquire() and release() are those of core/base/thread_sanitizer.hpp, for the fiber instead of
/// the calling thread. Using a fiber orders it neither after nor before that thread.
class Fiber {
public:
    /// Returns null without ThreadSanitizer, or if out of memory.
    static Fiber* make(const char* name) noexcept;
    /// Ends it. Does not block.
    void end() noexcept;

    void acquire(const void* address) noexcept;
    void release(const void* address) noexcept;
    /// Calls type.run(). What that throws, this throws: the calling thread is ordered after it.
    void run(const OpType& type, void* self, std::size_t begin, std::size_t end);
    /// Returns how long the last run() took, by the clock of decisions, without what it takes to
    /// get there. Not inline: the sanitizer would see the caller read what another thread has made.
    std::int64_t took_ns() const noexcept;
    /// Calls type.complete(). Orders like run(), and if there is a failure both ways.
    void complete(const OpType& type, void* self, std::exception_ptr failure);
    /// Destroys a closure made by box(), and frees it.
    void destroy(const OpType& type, void* self) noexcept;
    /// Loads an int atomically; acquires.
    int load(const int* value) noexcept;

private:
    enum class Call : std::uint8_t { none, run, complete, destroy, end };

    static void* serve(void* self) noexcept;
    void start_thread() noexcept;
    bool call(Call what, const OpType& type, void* self) noexcept;
    void make_call() noexcept;
    void run_work();
    void rethrow();

    void* fiber_ = nullptr;  ///< ThreadSanitizer's
    void* order_ = nullptr;  ///< the address for order between it and the calling thread
    bool has_thread_ = false;
    std::uint32_t is_called_ = 0;  ///< a futex: 1 while the fiber's thread has a call to make
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

/// Runs [begin, end) of a closure on the fiber, or on the calling thread if it is null.
inline void run_on(Fiber* fiber, const OpType& type, void* self, std::size_t begin,
                   std::size_t end) {
    if (fiber == nullptr) [[likely]]
        return type.run(self, begin, end);
    fiber->run(type, self, begin, end);
}

/// The same for type.complete().
inline void complete_on(Fiber* fiber, const OpType& type, void* self, std::exception_ptr failure) {
    if (fiber == nullptr) [[likely]]
        return type.complete(self, std::move(failure));
    fiber->complete(type, self, std::move(failure));
}

/// Moves a closure to a block of its own, and releases the block. The memory of a queue is used
/// again under locks of heddle's, and to ThreadSanitizer these are no order between streams. Ends
/// the program if out of memory, as ThreadSanitizer does.
void* box(const OpType& type, void* self) noexcept;

/// Frees memory that streams have used. `acquire_for_frees` tells whose work is ordered before all
/// later frees; the calling thread is not ordered after that work.
void acquire_for_frees(const void* address) noexcept;
void free_block(void* block) noexcept;

void forget_fibers() noexcept;  ///< called in the child of a fork

}  // namespace heddle::detail::cpu
