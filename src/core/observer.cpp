#include <heddle/observer.hpp>

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

#include "core/fork.hpp"
#include "core/registry.hpp"

namespace heddle {

namespace {

struct List {
    std::vector<Observer*> all;  ///< null: it was removed when there was no memory for another list
    List* next_retired = nullptr;
};

/// One for each thread that enqueues while there are observers, so that such threads do not disturb each other. Kept for good, and for
/// the next thread when one ends.
struct alignas(64) Visitor {
    std::atomic<std::uint64_t> visits{
        0};  ///< counted when it begins and when it ends: odd while it is inside observers
    std::atomic<bool> is_taken{true};
    Visitor* next = nullptr;
    int depth = 0;  ///< its thread's: an observer may lead to operations
};

constinit std::mutex mutex;  ///< guards changes
const detail::ForkRegistration registered{detail::ForkOrder::observers, mutex};
constinit std::atomic<const List*> current{nullptr};
constinit List* retired = nullptr;  ///< lists that threads may still be reading
constinit std::atomic<Visitor*> visitors{nullptr};

// The default order of atomics throughout: either a visitor sees the newest list, or whoever made that sees the visitor inside.

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

/// Null without memory.
Visitor* take_visitor() noexcept {
    for (Visitor* one = visitors.load(); one != nullptr; one = one->next)
        if (bool taken = false; one->is_taken.compare_exchange_strong(taken, true)) return one;
    auto* const made = new (std::nothrow) Visitor;
    if (made == nullptr) return nullptr;
    for (made->next = visitors.load(); !visitors.compare_exchange_weak(made->next, made);) {}
    return made;
}

/// This thread is inside observers while it lives; the list it sees lives as long.
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

/// Until every other thread that is inside observers has left them once. Threads that come later are not waited for.
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

/// Under the mutex.
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
        if (this_visitor == nullptr || this_visitor->depth == 0) unused = std::exchange(retired, nullptr);
    }
    wait_for_visitors();  // without the mutex: what an observer does may take it, as fork() does
    while (unused != nullptr) delete std::exchange(unused, unused->next_retired);
}

namespace detail {

void ensure_observer(Observer& observer) {
    const std::lock_guard lock(mutex);
    const List* const list = current.load();
    if (list != nullptr && std::ranges::find(list->all, &observer) != list->all.end()) return;
    change([&](std::vector<Observer*>& all) { all.push_back(&observer); });
}

void forget_observing_threads() noexcept {
    for (Visitor* one = visitors.load(); one != nullptr; one = one->next) {
        if (one == this_visitor) continue;
        one->visits.store((one->visits.load() + 1) / 2 * 2);
        one->depth = 0;
        one->is_taken.store(false);
    }
}

void notify(const Op& op) noexcept {
    Op described = op;
    char name[1024];  // takes no memory; longer ones are cut off
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

}  // namespace detail

}  // namespace heddle
