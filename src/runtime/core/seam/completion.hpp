// Completions: one-shot events on the host. CPU events are made of completions, and waits between
// CPU and CUDA streams use them (docs/adr/0003). A thread can block until a completion is done.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

#include "core/base/free_list.hpp"
#include "core/base/thread_sanitizer.hpp"
#include "core/failure/failure.hpp"

namespace heddle::detail {

class Completion;
struct StreamRecord;

/// A callback for one completion. Its owner stores it, for example in a stream's queue or on a
/// blocked thread's stack.
struct Waiter {
    Waiter* next = nullptr;
    /// Called once, on the thread that calls complete(). The waiter is not accessed afterwards, so
    /// the function may destroy it. Must not block.
    void (*wake)(Waiter& self, const Completion& done) noexcept = nullptr;
};

/// Completes once, with or without a failure. Reference-counted (see Ref). All members are
/// thread-safe.
class Completion {
public:
    bool is_done() const noexcept { return head_.load(std::memory_order_acquire) == done_mark(); }

    /// Call it only after is_done() has returned true.
    const Failure& failure() const noexcept { return failure_; }
    /// Returns the time passed to complete(): nanoseconds of std::chrono::steady_clock, or 0.
    std::int64_t time_ns() const noexcept { return time_ns_; }

    /// Whether complete() declares to ThreadSanitizer that its caller is ordered before the
    /// waiters.
    enum class Told : std::uint8_t { caller, already };

    /// Marks this object as complete, and wakes its waiters. Call it once. Pass `already` if a
    /// fiber of the stream has called tsan::release(order()) (cpu/executor/fibers.hpp).
    void complete(Failure failure = nullptr, std::int64_t time_ns = 0,
                  Told told = Told::caller) noexcept {
        if (told == Told::caller) tsan::release(order_);
        failure_ = std::move(failure);
        time_ns_ = time_ns;
        Waiter* waiter = head_.exchange(done_mark(), std::memory_order_acq_rel);
        while (waiter != nullptr) {
            Waiter* next = waiter->next;  // wake() may destroy the waiter
            waiter->wake(*waiter, *this);
            waiter = next;
        }
    }

    /// Returns whether the completion is pending and has waiters.
    bool is_awaited() const noexcept {
        const Waiter* const head = head_.load(std::memory_order_acquire);
        return head != nullptr && head != done_mark();
    }

    /// Adds a waiter. Returns false, and does not call the waiter, if the completion is complete
    /// already.
    bool add(Waiter& waiter) noexcept {
        Waiter* head = head_.load(std::memory_order_acquire);
        do {
            if (head == done_mark()) return false;
            waiter.next = head;
        } while (!head_.compare_exchange_weak(head, &waiter, std::memory_order_acq_rel,
                                              std::memory_order_acquire));
        return true;
    }

    /// Stores the CPU stream that will complete this completion, and the lower half of the stream's
    /// operation count at that point. Call it before other threads can wait for the completion.
    void promise(StreamRecord& by, std::uint64_t at) noexcept {
        promised_at_.store(static_cast<std::uint32_t>(at), std::memory_order_relaxed);
        promised_by_.store(&by, std::memory_order_release);
    }
    /// Returns the stream passed to promise(). Returns null if another thread completes the
    /// completion, or if the stream is unknown.
    StreamRecord* promised_by() const noexcept {
        return promised_by_.load(std::memory_order_acquire);
    }
    std::uint32_t promised_at() const noexcept {
        return promised_at_.load(std::memory_order_relaxed);
    }

    /// The address by which order is declared to ThreadSanitizer; null without it.
    const void* order() const noexcept { return order_; }
    /// Declares to ThreadSanitizer that the calling thread is ordered after this completion. Call
    /// it only after is_done() has returned true.
    void see() const noexcept { tsan::acquire(order_); }

    /// For debuggers and the watch, which read the object's memory. Return the offset of the state
    /// word, and whether a copy of that word means that the completion is done.
    static std::size_t state_offset() noexcept;
    static bool is_done(std::uintptr_t state) noexcept {
        return state == reinterpret_cast<std::uintptr_t>(done_mark());
    }

private:
    template <class T> friend class Ref;
    friend class FreeList<Completion>;
    friend Completion* new_completion();
    friend void free_completion(Completion& done) noexcept;
    static Waiter* done_mark() noexcept { return reinterpret_cast<Waiter*>(std::uintptr_t{1}); }

    std::atomic<Waiter*> head_{nullptr};
    std::atomic<std::uint32_t> references_{0};
    std::atomic<std::uint32_t> promised_at_{0};
    std::atomic<StreamRecord*> promised_by_{nullptr};
    std::int64_t time_ns_ = 0;
    Failure failure_;
    void* order_ = nullptr;  ///< a separate block for each use: see tsan::release()
    Completion* next_free = nullptr;
};

// offsetof is standard for plain structs only, but compilers support it for all.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
inline std::size_t Completion::state_offset() noexcept { return offsetof(Completion, head_); }
#pragma GCC diagnostic pop

Completion* new_completion();                     ///< from a pool; has no references
void free_completion(Completion& done) noexcept;  ///< returns the completion to the pool

/// A counted reference.
template <class T> class Ref {
public:
    Ref() noexcept = default;
    explicit Ref(T* object) noexcept : object_(object) { retain(); }
    Ref(const Ref& other) noexcept : object_(other.object_) { retain(); }
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() {
        if (object_ != nullptr && object_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            free_completion(*object_);
    }
    /// Returns null if the object has no references: then it is unused, or will be soon. Only for
    /// objects whose memory is never freed.
    static Ref try_from(T* object) noexcept {
        Ref made;
        std::uint32_t seen = object->references_.load(std::memory_order_relaxed);
        while (seen != 0)
            if (object->references_.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire,
                                                          std::memory_order_relaxed)) {
                made.object_ = object;
                break;
            }
        return made;
    }
    T* get() const noexcept { return object_; }
    std::uint32_t owners() const noexcept {
        return object_->references_.load(std::memory_order_acquire);
    }
    T* operator->() const noexcept { return object_; }
    T& operator*() const noexcept { return *object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

private:
    void retain() noexcept {
        if (object_ != nullptr) object_->references_.fetch_add(1, std::memory_order_relaxed);
    }
    T* object_ = nullptr;
};

using CompletionRef = Ref<Completion>;

inline CompletionRef make_completion() { return CompletionRef(new_completion()); }

/// Blocks the calling thread until `done` completes, and calls see(). Does not check whether the
/// thread may wait (see check_may_wait()).
void block_until(Completion& done);
/// Work that a thread does while it is blocked.
class WhileBlocked {
public:
    /// Does a part of the work. Returns the pause before the next call of run(): until then, there
    /// is no work.
    virtual std::chrono::milliseconds run() noexcept = 0;

protected:
    ~WhileBlocked() = default;
};
/// Like block_until(), but runs `meanwhile` on this thread, for the first time after `pause`.
/// Returns once `done` has completed and run() has returned.
void block_until(Completion& done, WhileBlocked& meanwhile, std::chrono::milliseconds pause);
/// Replaces heddle's threads, which end when exit() begins. Runs ready work on this thread until no
/// ready work is left or `done` completes. Returns false, without any effect, if exit() has not
/// begun.
bool help_at_exit(const Completion& done) noexcept;
/// If exit() has begun, helps until is_over() returns true; otherwise returns immediately. Call it
/// before a wait inside the driver, where the thread cannot help.
template <class F> void help_at_exit_until(F&& is_over) {
    const CompletionRef never = make_completion();
    while (help_at_exit(*never) && !is_over())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace heddle::detail
