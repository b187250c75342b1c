// The list of observers, and how they are notified.
#include <heddle/error.hpp>
#include <heddle/operation/observer.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/fork.hpp"
#include "core/base/ids.hpp"
#include "core/base/kernel_name.hpp"
#include "core/operation/calls.hpp"
#include "core/operation/observers.hpp"
#include "core/operation/polls.hpp"

namespace heddle {

namespace {

struct Entry {
    Observer* observer;  ///< null if it was removed when there was no memory for a new list
    ObserverOptions options;
};

struct List {
    std::vector<Entry> all;
    List* next_retired = nullptr;
};

/// Marks a thread as inside an observer's function. Each thread that enqueues while there are
/// observers has its own, so that threads share no cache line. Never freed; when a thread ends,
/// another thread reuses its visitor.
struct alignas(64) Visitor {
    /// Incremented on entry and on exit: odd while the thread is inside observers. Written by that
    /// thread alone.
    std::atomic<std::uint64_t> visits{0};
    std::atomic<bool> is_taken{true};
    Visitor* next = nullptr;
    int depth = 0;  ///< nesting of visits: an observer may enqueue operations
};

constinit std::mutex mutex;  ///< guards changes of the list
const detail::ForkRegistration observers_registered{detail::ForkOrder::observers, mutex};
constinit std::atomic<const List*> current{nullptr};
constinit List* retired = nullptr;          ///< lists that threads may still be reading
constinit bool are_flights_wanted = false;  ///< guarded by the mutex
constinit std::atomic<Visitor*> visitors{nullptr};

// Entering, publishing a list and checking for visitors are sequentially consistent. Either a
// visitor reads the newest list, or the thread that published the list finds the visitor inside.

constinit thread_local Visitor* this_visitor = nullptr;
constinit thread_local bool is_ending = false;

void give_visitor() noexcept {
    if (Visitor* const mine = std::exchange(this_visitor, nullptr)) mine->is_taken.store(false);
}

struct AtEndOfThread {
    bool is_made = false;
    ~AtEndOfThread() {
        is_ending = true;
        give_visitor();
    }
};
thread_local AtEndOfThread at_end;

/// Returns a free visitor or a new one, or null if memory is exhausted.
Visitor* take_visitor() noexcept {
    for (Visitor* one = visitors.load(); one != nullptr; one = one->next)
        if (bool taken = false; one->is_taken.compare_exchange_strong(taken, true)) return one;
    auto* const made = new (std::nothrow) Visitor;
    if (made == nullptr) return nullptr;
    for (made->next = visitors.load(); !visitors.compare_exchange_weak(made->next, made);) {}
    return made;
}

/// While it exists, marks this thread as inside observers, so that the list that the thread reads
/// is not freed.
class Visit {
public:
    Visit() noexcept {
        if (this_visitor == nullptr) {
            this_visitor = take_visitor();
            if (this_visitor == nullptr) return;
            if (!is_ending) at_end.is_made = true;
        }
        if (this_visitor->depth++ == 0)  // sequentially consistent: before the list is read
            this_visitor->visits.exchange(this_visitor->visits.load(std::memory_order_relaxed) + 1);
        list_ = current.load();
    }
    ~Visit() {
        if (this_visitor == nullptr || --this_visitor->depth != 0) return;
        this_visitor->visits.store(this_visitor->visits.load(std::memory_order_relaxed) + 1,
                                   std::memory_order_release);
        if (is_ending) give_visitor();
    }
    Visit(const Visit&) = delete;
    const List* list() const noexcept { return list_; }

private:
    const List* list_ = nullptr;
};

/// Waits until each other thread that is now inside observers has left them. Does not wait for
/// threads that enter later.
void wait_for_visitors() noexcept {
    for (const Visitor* one = visitors.load(); one != nullptr; one = one->next) {
        const std::uint64_t seen = one->visits.load();
        if (one == this_visitor || seen % 2 == 0) continue;
        for (int looks = 0; one->visits.load() == seen; ++looks) {
            if (looks < 100) std::this_thread::yield();
            else detail::decision_pause(50'000);
        }
    }
}

/// Returns the requests of a list's observers, as bits of `observed`.
std::uint32_t wishes_of(const List& list) noexcept {
    std::uint32_t bits = list.all.empty() ? 0 : detail::observe::ops;
    if (are_flights_wanted) bits |= detail::observe::flight;
    for (const Entry& one : list.all)
        bits |= (one.options.times ? detail::observe::times : 0) |
                (one.options.calls ? detail::observe::calls : 0) |
                (one.options.host_functions ? detail::observe::host_functions : 0);
    return bits;
}

/// Publishes a changed copy of the list and retires the old one. Call with the mutex held.
template <class F> void change(F&& function) {
    auto fresh = std::make_unique<List>();
    const List* const old = current.load();
    if (old != nullptr) fresh->all = old->all;
    std::erase_if(fresh->all, [](const Entry& one) { return one.observer == nullptr; });
    function(fresh->all);
    detail::observed.store(wishes_of(*fresh));
    current.store(fresh.release());
    detail::forget_polls();
    if (old == nullptr) return;
    const_cast<List*>(old)->next_retired = retired;
    retired = const_cast<List*>(old);
}

/// Calls use(observer, options) for each observer.
template <class F> void visit(F&& use) noexcept {
    const Visit inside;
    if (inside.list() == nullptr) return;
    for (const Entry& one : inside.list()->all)
        if (Observer* const observer =
                std::atomic_ref(const_cast<Entry&>(one).observer).load(std::memory_order_acquire))
            use(*observer, one.options);
}

}  // namespace

void add_observer(Observer& observer, ObserverOptions options) try {
    const std::lock_guard lock(mutex);
    change([&](std::vector<Entry>& all) { all.push_back({&observer, options}); });
} catch (...) {
    detail::rethrow_as_error("add_observer", {});
}

void remove_observer(Observer& observer) {
    List* unused = nullptr;
    const auto is_it = [&](const Entry& one) { return one.observer == &observer; };
    {
        const std::lock_guard lock(mutex);
        try {
            change([&](std::vector<Entry>& all) { std::erase_if(all, is_it); });
        } catch (const std::bad_alloc&) {
            if (const List* const list = current.load())
                for (Entry& one : const_cast<List*>(list)->all)
                    if (is_it(one)) std::atomic_ref(one.observer).store(nullptr);
        }
        if (this_visitor == nullptr || this_visitor->depth == 0)
            unused = std::exchange(retired, nullptr);
    }
    // Observers are called without the mutex, because an observer may lock it, for example by
    // calling fork().
    wait_for_visitors();
    while (unused != nullptr) delete std::exchange(unused, unused->next_retired);
}

namespace detail {

void ensure_observer(Observer& observer) {
    const std::lock_guard lock(mutex);
    const List* const list = current.load();
    if (list != nullptr &&
        std::ranges::any_of(list->all, [&](const Entry& one) { return one.observer == &observer; }))
        return;
    change([&](std::vector<Entry>& all) { all.push_back({&observer, {}}); });
}

void want_flights(bool wanted) noexcept {
    const std::lock_guard lock(mutex);
    are_flights_wanted = wanted;
    if (wanted) observed.fetch_or(observe::flight);
    else observed.fetch_and(~observe::flight);
}

namespace {
void forget_observing_threads() noexcept {
    for (Visitor* one = visitors.load(); one != nullptr; one = one->next) {
        if (one == this_visitor) continue;
        one->visits.store((one->visits.load() + 1) / 2 * 2);
        one->depth = 0;
        one->is_taken.store(false);
    }
}
const ForkStepRegistration observers_in_children{ForkStep::observers, &forget_observing_threads};
}  // namespace

void notify(OpInfo op) noexcept { complete_and_notify(op); }

void complete_and_notify(OpInfo& op) noexcept {
    if (op.kind != OpKind::query) end_polls();
    ThreadCall& call = this_call();
    op.id = call.id != 0 ? call.id : next_id();
    op.parent = call.parent;
    op.collective = call.collective;
    op.share = call.share;
    op.shares = call.shares;
    if (op.reason == WaitReason::user) op.reason = call.reason;
    if (op.kind == OpKind::launch || op.kind == OpKind::host_function ||
        op.kind == OpKind::host_function_begin)
        op.name = kept_kernel_name(op.name);
    const bool is_timed = (observed.load(std::memory_order_relaxed) & observe::times) != 0;
    if (is_timed) {
        op.end_ns = now_ns();
        op.begin_ns = call.begin_ns != 0 ? call.begin_ns : op.end_ns;
    }
    visit([&](Observer& one, const ObserverOptions&) { one.on_op(op); });
    // Later work in this call is another operation.
    if (call.begin_ns != 0) {
        call.begin_ns = op.end_ns;
        call.id = next_id();
    } else {
        call.id = 0;
    }
}

void notify_blocked(OpInfo& op) noexcept {
    const ThreadCall& call = this_call();
    op.kind = OpKind::blocked;
    op.id = next_id();
    op.parent = call.parent;
    visit([&](Observer& one, const ObserverOptions&) { one.on_op(op); });
}

void notify_run(const OpRun& run) noexcept {
    visit([&](Observer& one, const ObserverOptions& options) {
        if (options.times) one.on_run(run);
    });
}

void notify_clock(const ClockReading& reading) noexcept {
    visit([&](Observer& one, const ObserverOptions& options) {
        if (options.times) one.on_clock(reading);
    });
}

void CallMark::begin(const char* name, const SourceLocation& where) noexcept {
    const std::uint32_t wanted = observed.load(std::memory_order_relaxed);
    has_begun_ = true;
    ThreadCall& call = this_call();
    outer_begin_ = call.begin_ns;
    outer_id_ = call.id;
    tells_ = (wanted & observe::calls) != 0;
    if (tells_)
        visit([&](Observer& one, const ObserverOptions& options) {
            if (options.calls) one.on_call_begin({name, where});
        });
    if ((wanted & observe::times) == 0) return;
    call.id = next_id();
    call.begin_ns = now_ns();
}

void CallMark::end() noexcept {
    // If this call was nested, the outer call's next operation begins now.
    ThreadCall& call = this_call();
    call.begin_ns = outer_begin_ != 0 ? now_ns() : 0;
    call.id = outer_id_;
    if (!tells_) return;
    visit([&](Observer& one, const ObserverOptions& options) {
        if (options.calls) one.on_call_end();
    });
}

}  // namespace detail

}  // namespace heddle
