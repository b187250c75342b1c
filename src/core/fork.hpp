// fork(): every lock that the whole process shares is held while it happens, so that the child finds none held by a thread it
// does not have.
#pragma once

#include <mutex>

namespace heddle::detail {

/// In the order in which threads take them, outermost first.
enum class ForkOrder {
    observers,
    default_streams,
    branches,
    graph_memory,
    registry,
    executor,
    shared_events,
    events,
    blocks,
    block_users,
    chunks,
    completions,
    shared_files,
    tapes,
    recorders,
    batch_recorders,
    report_hook,
    count
};

struct ForkLock {
    void* object = nullptr;
    void (*lock)(void*) = nullptr;
    void (*unlock)(void*) = nullptr;
};
/// How many forks this process and its parents went through: another number in each child.
int forks() noexcept;

/// Before anybody can have taken the lock: see ForkRegistration.
void register_fork_lock(ForkOrder order, ForkLock lock) noexcept;

/// `object` must live as long as the process.
template <class Lock> void register_fork_lock(ForkOrder order, Lock& object) noexcept {
    register_fork_lock(order, {&object, [](void* l) { static_cast<Lock*>(l)->lock(); },
                               [](void* l) { static_cast<Lock*>(l)->unlock(); }});
}

/// A variable at namespace scope, beside the lock: registers it before main() begins. The lock is constant-initialised, or made by
/// `lock` (MadeOnce), and not in a static variable of a function, whose guard no child could get past.
struct ForkRegistration {
    ForkRegistration(ForkOrder order, ForkLock lock) noexcept { register_fork_lock(order, lock); }
    template <class Lock> ForkRegistration(ForkOrder order, Lock& object) noexcept {
        register_fork_lock(order, object);
    }
};

}  // namespace heddle::detail
