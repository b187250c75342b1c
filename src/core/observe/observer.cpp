// The list of observers, and how they are notified.
#include <heddle/error.hpp>
#include <heddle/observe/observer.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/fork.hpp"
#include "core/base/kernel_name.hpp"
#include "core/observe/observers.hpp"

namespace heddle {

namespace {

struct List {
    /// Null entries: observers removed when there was no memory for a new list.
    std::vector<Observer*> all;
    List* next_retired = nullptr;
};

/// One per thread that enqueues while there are observers, so that such threads share no cache
/// line. Never freed; when a thread ends, another thread reuses its visitor.
struct alignas(64) Visitor {
    /// Incremented on entry and on exit: odd while the thread is inside observers.
    std::atomic<std::uint64_t> visits{0};
    std::atomic<bool> is_taken{true};
    Visitor* next = nullptr;
    int depth = 0;  ///< nesting of visits: an observer may enqueue operations
};

constinit std::mutex mutex;  ///< guards changes of the list
const detail::ForkRegistration registered{detail::ForkOrder::observers, mutex};
constinit std::atomic<const List*> current{nullptr};
constinit List* retired = nullptr;  ///< lists that threads may still be reading
constinit std::atomic<Visitor*> visitors{nullptr};

// All atomics here are sequentially consistent: either a visitor sees the newest list, or the
// thread that published that list sees the visitor inside.

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

/// Returns a free visitor or a new one, or null if there is no memory.
Visitor* take_visitor() noexcept {
    for (Visitor* one = visitors.load(); one != nullptr; one = one->next)
        if (bool taken = false; one->is_taken.compare_exchange_strong(taken, true)) return one;
    auto* const made = new (std::nothrow) Visitor;
    if (made == nullptr) return nullptr;
    for (made->next = visitors.load(); !visitors.compare_exchange_weak(made->next, made);) {}
    return made;
}

/// Marks this thread as inside observers for its lifetime, which keeps the list it sees alive.
class Visit {
public:
    Visit() noexcept {
        if (this_visitor == nullptr) {
            this_visitor = take_visitor();
            if (this_visitor == nullptr) return;
            if (!is_ending) at_end.is_made = true;
        }
        if (this_visitor->depth++ == 0) this_visitor->visits.fetch_add(1);
        list_ = current.load();
    }
    ~Visit() {
        if (this_visitor == nullptr || --this_visitor->depth != 0) return;
        this_visitor->visits.fetch_add(1);
        if (is_ending) give_visitor();
    }
    Visit(const Visit&) = delete;
    const List* list() const noexcept { return list_; }

private:
    const List* list_ = nullptr;
};

/// Waits until every other thread that is inside observers now has left them once. Does not wait
/// for threads that enter later.
void wait_for_visitors() noexcept {
    for (const Visitor* one = visitors.load(); one != nullptr; one = one->next) {
        const std::uint64_t seen = one->visits.load();
        if (one == this_visitor || seen % 2 == 0) continue;
        for (int looks = 0; one->visits.load() == seen; ++looks) {
            if (looks < 100) std::this_thread::yield();
            else std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }
}

/// Publishes a changed copy of the list and retires the old one. Call with the mutex held.
template <class F> void change(F&& function) {
    auto fresh = std::make_unique<List>();
    const List* const old = current.load();
    if (old != nullptr) fresh->all = old->all;
    std::erase(fresh->all, nullptr);
    function(fresh->all);
    detail::observed.store(!fresh->all.empty());
    current.store(fresh.release());
    if (old == nullptr) return;
    const_cast<List*>(old)->next_retired = retired;
    retired = const_cast<List*>(old);
}

}  // namespace

const char* to_string(OpKind kind) noexcept {
    switch (kind) {
    case OpKind::launch: return "launch";
    case OpKind::graph_launch: return "graph_launch";
    case OpKind::host_function: return "host_function";
    case OpKind::copy: return "copy";
    case OpKind::fill: return "fill";
    case OpKind::allocate: return "allocate";
    case OpKind::free: return "free";
    case OpKind::record: return "record";
    case OpKind::wait: return "wait";
    case OpKind::wait_elided: return "wait_elided";
    case OpKind::dropped: return "dropped";
    case OpKind::synchronize: return "synchronize";
    }
    return "?";
}

void add_observer(Observer& observer) try {
    const std::lock_guard lock(mutex);
    change([&](std::vector<Observer*>& all) { all.push_back(&observer); });
} catch (...) {
    detail::rethrow_as_error("add_observer", {});
}

void remove_observer(Observer& observer) {
    List* unused = nullptr;
    {
        const std::lock_guard lock(mutex);
        try {
            change([&](std::vector<Observer*>& all) { std::erase(all, &observer); });
        } catch (const std::bad_alloc&) {
            const List* const list = current.load();
            if (list != nullptr)
                for (Observer*& one : const_cast<List*>(list)->all)
                    if (one == &observer) std::atomic_ref(one).store(nullptr);
        }
        if (this_visitor == nullptr || this_visitor->depth == 0)
            unused = std::exchange(retired, nullptr);
    }
    // Without the mutex: an observer may take it, for example by fork().
    wait_for_visitors();
    while (unused != nullptr) delete std::exchange(unused, unused->next_retired);
}

namespace detail {

void ensure_observer(Observer& observer) {
    const std::lock_guard lock(mutex);
    const List* const list = current.load();
    if (list != nullptr && std::ranges::find(list->all, &observer) != list->all.end()) return;
    change([&](std::vector<Observer*>& all) { all.push_back(&observer); });
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
const ForkStepRegistration in_children{ForkStep::observers, &forget_observing_threads};
}  // namespace

void notify(const OpInfo& op) noexcept {
    OpInfo described = op;
    char name[1024];  // on the stack, so that nothing is allocated; longer names are truncated
    if (op.kind == OpKind::launch || op.kind == OpKind::host_function) {
        name[kernel_name_in(op.name).copy(name, sizeof name - 1)] = '\0';
        described.name = name;
    }
    const Visit visit;
    if (visit.list() == nullptr) return;
    for (Observer* const& one : visit.list()->all)
        if (Observer* const observer = std::atomic_ref(const_cast<Observer*&>(one)).load())
            observer->on_op(described);
}

void notify_on(StreamState& stream, OpInfo op) noexcept {
    op.stream = Access::stream(stream);
    op.sequence = stream.submissions.load(std::memory_order_relaxed);
    notify(op);
}

}  // namespace detail

}  // namespace heddle
