#include <heddle/observer.hpp>

#include <algorithm>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "core/fork.hpp"
#include "core/registry.hpp"

namespace heddle {

namespace {
/// Many may be in it to read, or one to write. (std::shared_mutex cannot be released in the child of a fork: it knows its owner
/// by a number that is another there.)
class SharedLock {
public:
    void lock() noexcept {
        for (int free = 0; !state_.compare_exchange_weak(free, -1, std::memory_order_acquire); free = 0)
            std::this_thread::yield();
    }
    void unlock() noexcept { state_.store(0, std::memory_order_release); }
    void lock_shared() noexcept {
        for (int seen = state_.load(std::memory_order_relaxed);;) {
            if (seen >= 0 && state_.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire)) return;
            if (seen < 0) {
                std::this_thread::yield();
                seen = state_.load(std::memory_order_relaxed);
            }
        }
    }
    void unlock_shared() noexcept { state_.fetch_sub(1, std::memory_order_release); }

private:
    std::atomic<int> state_{0};  // readers inside; -1: a writer
};

struct Observers {
    SharedLock mutex;
    std::vector<Observer*> all;
};
Observers& observers() {
    static auto* const instance = [] {
        auto* made = new Observers;
        detail::register_fork_lock(detail::ForkOrder::observers, made->mutex);
        return made;
    }();
    return *instance;
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
    const std::lock_guard lock(observers().mutex);
    observers().all.push_back(&observer);
    detail::observed.store(true);
} catch (...) {
    detail::rethrow_as_error("add_observer", {});
}

void remove_observer(Observer& observer) {
    const std::lock_guard lock(observers().mutex);
    std::erase(observers().all, &observer);
    detail::observed.store(!observers().all.empty());
}

namespace detail {
void notify(const Op& op) noexcept {
    Op described = op;
    char name[1024];  // takes no memory; longer ones are cut off
    if (op.kind == OpKind::launch || op.kind == OpKind::host_function) {
        name[kernel_name_in(op.name).copy(name, sizeof name - 1)] = '\0';
        described.name = name;
    }
    const std::shared_lock lock(observers().mutex);
    for (Observer* observer : observers().all) observer->on_op(described);
}
}  // namespace detail

}  // namespace heddle
