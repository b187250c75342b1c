// This file is compiled without instrumentation: ThreadSanitizer does not see the accesses of its
// code.
#include "cpu/executor/fiber.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/operation/calls.hpp"

namespace heddle::detail::tsan {

// Weak declarations, as in core/base/thread_sanitizer.hpp.
[[gnu::weak]] void* current_fiber() noexcept asm("__tsan_get_current_fiber");
[[gnu::weak]] void* create_fiber(unsigned flags) noexcept asm("__tsan_create_fiber");
[[gnu::weak]] void destroy_fiber(void* fiber) noexcept asm("__tsan_destroy_fiber");
[[gnu::weak]] void switch_to_fiber(void* fiber, unsigned flags) noexcept
    asm("__tsan_switch_to_fiber");
[[gnu::weak]] void set_fiber_name(void* fiber, const char* name) noexcept
    asm("__tsan_set_fiber_name");
[[gnu::weak]] int load_atomic(const volatile int* address, int order) noexcept
    asm("__tsan_atomic32_load");

}  // namespace heddle::detail::tsan

namespace heddle::detail::cpu {

using namespace tsan;

namespace {

constexpr unsigned no_order = 1;  // a flag of switch_to_fiber(): a switch creates no order

/// Makes ThreadSanitizer attribute the calling thread's accesses to a fiber while the object
/// exists.
class As {
public:
    explicit As(void* fiber) noexcept : before_(current_fiber()) {
        switch_to_fiber(fiber, no_order);
    }
    ~As() { switch_to_fiber(before_, no_order); }
    As(const As&) = delete;
    As& operator=(const As&) = delete;

private:
    void* before_;
};

/// A spin lock that ThreadSanitizer does not see. Has no resources, because it may be held at a
/// fork.
class HiddenLock {
public:
    void lock() noexcept {
        while (__atomic_exchange_n(&held_, true, __ATOMIC_ACQUIRE)) sched_yield();
    }
    void unlock() noexcept { __atomic_store_n(&held_, false, __ATOMIC_RELEASE); }

private:
    bool held_ = false;
};

constinit HiddenLock lock;
// Guarded by the lock:
Fiber* free_fibers = nullptr;  // the fibers' memory is never freed
void* blank = nullptr;         // ThreadSanitizer's fiber that creates new fibers
void* frees = nullptr;         // ThreadSanitizer's fiber that frees blocks

/// Returns ThreadSanitizer's fiber that creates other fibers and their threads. ThreadSanitizer
/// orders a new fiber after its creator, so the creator must not be ordered after other work. Call
/// with the lock held.
void* creator() noexcept {
    if (blank == nullptr) blank = create_fiber(0);
    return blank;
}

void wait_while(std::uint32_t& word, std::uint32_t value) noexcept {
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == value)
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void set(std::uint32_t& word, std::uint32_t value) noexcept {
    __atomic_store_n(&word, value, __ATOMIC_RELEASE);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace

Fiber* Fiber::make(const char* name) noexcept {
    if (create_fiber == nullptr || !tsan::is_here()) return nullptr;
    lock.lock();
    Fiber* fiber = free_fibers;
    if (fiber != nullptr) free_fibers = fiber->next_free_;
    void* order = nullptr;
    void* created = nullptr;
    {
        const As self(creator());
        order = std::malloc(1);  // a fresh address for each fiber
        created = create_fiber(0);
    }
    lock.unlock();
    if (fiber == nullptr) fiber = static_cast<Fiber*>(std::malloc(sizeof(Fiber)));
    if (fiber == nullptr) {
        destroy_fiber(created);  // `order` leaks
        return nullptr;
    }
    ::new (fiber) Fiber;
    fiber->fiber_ = created;
    fiber->order_ = order;
    set_fiber_name(created, name);
    return fiber;
}

void Fiber::end() noexcept {
    if (has_thread_) {
        call_ = Call::end;
        return set(is_called_, 1);
    }
    {
        const As own(fiber_);
        std::free(order_);
    }
    destroy_fiber(fiber_);
    lock.lock();
    next_free_ = free_fibers;
    free_fibers = this;
    lock.unlock();
}

void Fiber::acquire(const void* address) noexcept {
    const As self(fiber_);
    tsan::acquire(address);
}

void Fiber::release(const void* address) noexcept {
    const As self(fiber_);
    tsan::release(address);
}

void Fiber::start_thread() noexcept {
    lock.lock();
    {
        const As self(creator());
        pthread_t thread;
        has_thread_ = pthread_create(&thread, nullptr, &serve, this) == 0;
        // Detaches the thread only now. If it were created detached, ThreadSanitizer would remember
        // its id, and a thread in the child of a fork may get the same id.
        if (has_thread_) pthread_detach(thread);
    }
    lock.unlock();
}

void* Fiber::serve(void* self) noexcept {
    Fiber& fiber = *static_cast<Fiber*>(self);
    prctl(PR_SET_NAME, "heddle-fiber");
    // The thread's thread_local variables have been constructed by now.
    tsan::release(fiber.order_);
    fiber.acquire(fiber.order_);
    for (;;) {
        wait_while(fiber.is_called_, 0);
        if (fiber.call_ == Call::end) break;
        {
            const As own(fiber.fiber_);
            fiber.make_call();
        }
        set(fiber.is_called_, 0);
    }
    // The destructors of the thread's thread_local variables run after this.
    fiber.release(fiber.order_);
    tsan::acquire(fiber.order_);
    fiber.has_thread_ = false;
    fiber.end();
    return nullptr;
}

bool Fiber::call(Call what, const OpType& type, void* self) noexcept {
    call_ = what;
    type_ = &type;
    self_ = self;
    parent_ = this_call().parent;
    has_thrown_ = false;
    if (!has_thread_) start_thread();
    if (has_thread_) {
        set(is_called_, 1);
        wait_while(is_called_, 1);
    } else {
        const As own(fiber_);  // if no thread can be created, runs on the calling thread's stack
        make_call();
    }
    return has_thrown_;
}

void Fiber::make_call() noexcept {
    if (call_ == Call::destroy) {
        if (type_->destroy != nullptr) type_->destroy(self_);
        return std::free(self_);
    }
    try {
        run_work();
    } catch (...) {
        thrown_ = std::current_exception();
        has_thrown_ = true;
    }
}

void Fiber::run_work() {
    const InHostFunction mark;
    const RunsOperation parent(parent_);
    const std::int64_t start = decision_ns();
    run_with_checks([&] {
        if (call_ == Call::complete) type_->complete(self_, std::exchange(failure_, nullptr));
        else type_->run(self_, begin_, end_);
    });
    took_ns_ = decision_ns() - start;
}

/// Rethrows the exception of the last call. Orders the fiber and the caller in both directions,
/// because both use the exception and thrown_.
void Fiber::rethrow() {
    release(order_);
    tsan::acquire(order_);
    const std::exception_ptr thrown = std::exchange(thrown_, nullptr);
    tsan::release(order_);
    acquire(order_);
    std::rethrow_exception(thrown);
}

std::int64_t Fiber::took_ns() const noexcept { return took_ns_; }

void Fiber::run(const OpType& type, void* self, std::size_t begin, std::size_t end) {
    begin_ = begin;
    end_ = end;
    if (call(Call::run, type, self)) rethrow();
}

void Fiber::complete(const OpType& type, void* self, std::exception_ptr failure) {
    const bool failed = failure != nullptr;
    if (failed) {
        failure_ = std::move(failure);
        tsan::release(order_);
        acquire(order_);
    }
    const bool has_thrown = call(Call::complete, type, self);
    if (failed) {
        release(order_);
        tsan::acquire(order_);
    }
    if (has_thrown) rethrow();
}

void Fiber::destroy(const OpType& type, void* self) noexcept {
    if (type.destroy != nullptr) {
        call(Call::destroy, type, self);
    } else {
        const As own(fiber_);
        std::free(self);
    }
}

int Fiber::load(const int* value) noexcept {
    const As own(fiber_);
    return load_atomic(value, __ATOMIC_ACQUIRE);
}

void* box(const OpType& type, void* self) noexcept {
    const std::size_t align = std::max<std::size_t>(type.align, alignof(std::max_align_t));
    void* const block = std::aligned_alloc(
        align, (std::max<std::size_t>(type.size, 1) + align - 1) / align * align);
    if (block == nullptr) std::abort();
    if (type.move != nullptr) type.move(self, block);
    else __builtin_memcpy(block, self, type.size);
    tsan::release(block);
    return block;
}

void acquire_for_frees(const void* address) noexcept {
    if (!tsan::is_here() || create_fiber == nullptr) [[likely]]
        return;
    lock.lock();
    if (frees == nullptr) {
        const As self(creator());
        frees = create_fiber(0);
        set_fiber_name(frees, "heddle: memory is freed");
    }
    {
        const As own(frees);
        tsan::acquire(address);
    }
    lock.unlock();
}

void free_block(void* block) noexcept {
    if (!tsan::is_here() || create_fiber == nullptr) [[likely]]
        return std::free(block);
    tsan::release(block);
    acquire_for_frees(block);
    lock.lock();
    {
        const As own(frees);
        std::free(block);
    }
    lock.unlock();
}

void forget_fibers() noexcept {
    lock = HiddenLock();
    free_fibers = nullptr;
    blank = frees = nullptr;
}

}  // namespace heddle::detail::cpu
