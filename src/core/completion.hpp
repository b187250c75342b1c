// Completions: things that happen once, on host threads. CPU events are made of them, and the two kinds of device meet in them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include <heddle/error.hpp>

namespace heddle::detail {

/// Why work failed: shared by the stream it failed on, by what waited for it and by whoever may still ask. If it poisoned a stream and the
/// last of them lets go of it before anybody was told, it goes to the report hook. So no internal lock may be held by whoever lets
/// go of one.
class FailedWork final : public ErrorInfo {
public:
    explicit FailedWork(ErrorInfo info) : ErrorInfo(std::move(info)) {}
    FailedWork(const FailedWork&) = delete;
    FailedWork& operator=(const FailedWork&) = delete;
    ~FailedWork();

    /// A stream has it as its failure: somebody has to be told.
    void note_taken() const noexcept {
        State fresh = State::fresh;
        state_.compare_exchange_strong(fresh, State::untold, std::memory_order_acq_rel);
    }
    /// Somebody was handed it: by an exception, as a std::exception_ptr, or by the report hook.
    void note_told() const noexcept { state_.store(State::told, std::memory_order_release); }
    bool is_told() const noexcept { return state_.load(std::memory_order_acquire) == State::told; }

private:
    enum class State : std::uint8_t { fresh, untold, told };
    mutable std::atomic<State> state_{State::fresh};
};
using Failure = std::shared_ptr<const FailedWork>;

inline Failure make_failure(ErrorInfo info) { return std::make_shared<const FailedWork>(std::move(info)); }

/// Stands for a failure that there was no memory to describe. Made before it is needed.
const Failure& no_memory_failure() noexcept;

class Completion;

/// Something to be told of a completion. Lives where its owner keeps it (a stream's queue, a blocked thread's stack).
struct Waiter {
    Waiter* next = nullptr;
    /// Called once, on the thread that completes, after which the waiter is not touched again. Must not block.
    void (*wake)(Waiter& self, const Completion& done) noexcept = nullptr;
};

/// Happens once, with or without a failure. Counted by reference (see Ref). All members are thread-safe.
class Completion {
public:
    bool is_done() const noexcept { return head_.load(std::memory_order_acquire) == done_mark(); }

    /// Only after is_done().
    const Failure& failure() const noexcept { return failure_; }
    /// Nanoseconds of std::chrono::steady_clock when it happened; 0 unless asked for by complete().
    std::int64_t time_ns() const noexcept { return time_ns_; }

    /// Makes it happen and wakes the waiters. Once.
    void complete(Failure failure = nullptr, std::int64_t time_ns = 0) noexcept {
        failure_ = std::move(failure);
        time_ns_ = time_ns;
        Waiter* waiter = head_.exchange(done_mark(), std::memory_order_acq_rel);
        while (waiter != nullptr) {
            Waiter* next = waiter->next;  // wake() may end the waiter's life
            waiter->wake(*waiter, *this);
            waiter = next;
        }
    }

    /// Somebody is to be told of it.
    bool is_awaited() const noexcept {
        const Waiter* const head = head_.load(std::memory_order_acquire);
        return head != nullptr && head != done_mark();
    }

    /// Adds a waiter. False: it has happened already, and the waiter will not be told.
    bool add(Waiter& waiter) noexcept {
        Waiter* head = head_.load(std::memory_order_acquire);
        do {
            if (head == done_mark()) return false;
            waiter.next = head;
        } while (!head_.compare_exchange_weak(head, &waiter, std::memory_order_acq_rel,
                                              std::memory_order_acquire));
        return true;
    }

private:
    template <class T> friend class Ref;
    friend class CompletionPool;
    static Waiter* done_mark() noexcept { return reinterpret_cast<Waiter*>(std::uintptr_t{1}); }

    std::atomic<Waiter*> head_{nullptr};
    std::atomic<std::uint32_t> references_{0};
    std::int64_t time_ns_ = 0;
    Failure failure_;
    Completion* next_free_ = nullptr;
};

Completion* new_completion();                     ///< from a pool, no references yet
void free_completion(Completion& done) noexcept;  ///< back to the pool

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
    T* get() const noexcept { return object_; }
    std::uint32_t owners() const noexcept { return object_->references_.load(std::memory_order_acquire); }
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

/// Blocks the calling thread until `done` has happened. Does not check whether it may (see check_may_wait).
void block_until(Completion& done);
/// After exit() has begun, which ended heddle's threads: does on this thread what they would do and is ready, until `done`. False,
/// having done nothing: the process does not end yet.
bool help_at_exit(const Completion& done) noexcept;
/// After exit() has begun: helps until is_over() says true, which a wait inside a driver could not.
template <class F> void help_at_exit_until(F&& is_over) {
    const CompletionRef never = make_completion();
    while (help_at_exit(*never) && !is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace heddle::detail
