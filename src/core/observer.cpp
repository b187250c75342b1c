#include <heddle/observer.hpp>

#include <algorithm>
#include <shared_mutex>
#include <vector>

#include "core/fork.hpp"
#include "core/registry.hpp"

namespace heddle {

namespace {
struct Observers {
    std::shared_mutex mutex;
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

void add_observer(Observer& observer) {
    const std::lock_guard lock(observers().mutex);
    observers().all.push_back(&observer);
    detail::observed.store(true);
}

void remove_observer(Observer& observer) {
    const std::lock_guard lock(observers().mutex);
    std::erase(observers().all, &observer);
    detail::observed.store(!observers().all.empty());
}

namespace detail {
void notify(const Op& op) noexcept {
    const bool is_code = op.kind == OpKind::launch || op.kind == OpKind::host_function;
    const std::string name = is_code ? kernel_name(op.name) : std::string();
    Op described = op;
    if (is_code) described.name = name.c_str();
    const std::shared_lock lock(observers().mutex);
    for (Observer* observer : observers().all) observer->on_op(described);
}
}  // namespace detail

}  // namespace heddle
