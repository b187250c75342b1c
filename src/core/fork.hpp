// fork(): every lock that the whole process shares is held while it happens, so that the child finds none held by a thread it
// does not have.
#pragma once

#include <mutex>

namespace heddle::detail {

/// In the order in which threads take them, outermost first.
enum class ForkOrder {
    report_hook,
    observers,
    default_streams,
    branches,
    graph_memory,
    registry,
    executor,
    events,
    blocks,
    block_users,
    chunks,
    completions,
    shared_files,
    tapes,
    recorders,
    batch_recorders,
    count
};

struct ForkLock {
    void* object = nullptr;
    void (*lock)(void*) = nullptr;
    void (*unlock)(void*) = nullptr;
};
void register_fork_lock(ForkOrder order, ForkLock lock) noexcept;

/// `object` must live as long as the process.
template <class Lock> void register_fork_lock(ForkOrder order, Lock& object) noexcept {
    register_fork_lock(order, {&object, [](void* l) { static_cast<Lock*>(l)->lock(); },
                               [](void* l) { static_cast<Lock*>(l)->unlock(); }});
}

}  // namespace heddle::detail
