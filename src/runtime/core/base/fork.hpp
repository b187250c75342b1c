// Safe fork(): every process-wide lock is held across the call, so that no lock in the child is
// held by a thread that does not exist there. The child then runs the steps that reset its state.
// Each step is registered beside the state that it resets.
#pragma once

namespace heddle::detail {

/// The process-wide locks, in the order in which threads take them, outermost first.
enum class ForkOrder {
    dlpack_imports,
    watch,
    recordings,
    observers,
    function_marks,
    default_streams,
    branches,
    graph_memory,
    registry,
    executor,
    shared_events,
    events,
    block_index,
    foreign_owners,
    blocks,
    block_slabs,
    block_users,
    kept_memory,
    pooled_memory,
    chunks,
    completions,
    shared_files,
    imports,
    tapes,
    recorders,
    batch_recorders,
    roll_calls,
    roll_sockets,
    kernel_names,
    left_failures,
    report_hook,
    count
};

struct ForkLock {
    void* object = nullptr;
    void (*lock)(void*) = nullptr;
    void (*unlock)(void*) = nullptr;
};
/// Returns the number of forks between the first process and this one. A child's number is one more
/// than its parent's.
int forks() noexcept;

/// Registers a lock at its position in the order in which fork() acquires locks. Call it before any
/// thread can have acquired the lock (see ForkRegistration). Terminates the program if another lock
/// has that position.
void register_fork_lock(ForkOrder order, ForkLock lock) noexcept;

/// `object` must live as long as the process.
template <class Lock> void register_fork_lock(ForkOrder order, Lock& object) noexcept {
    register_fork_lock(order, {&object, [](void* l) { static_cast<Lock*>(l)->lock(); },
                               [](void* l) { static_cast<Lock*>(l)->unlock(); }});
}

/// Returns the lock that is registered at this position, or an empty ForkLock. For tests.
ForkLock fork_lock(ForkOrder order) noexcept;

/// Steps that the child of a fork runs before anything else, in this order. A step must not wait,
/// except for locks that were held across the fork. It must not use objects that another thread may
/// have been constructing (MadeOnce is safe).
enum class ForkStep {
    observers,
    activities,
    function_marks,
    streams,
    kept_memory,
    scopes,
    branches,
    backends,
    watch,
    roll_sockets,
    roll_calls,
    count
};
/// Registers the function of a step. Terminates the program if the step has another function.
void register_fork_step(ForkStep step, void (*run)() noexcept) noexcept;

/// Registers a step. Define it at namespace scope, beside the state that the step changes.
struct ForkStepRegistration {
    ForkStepRegistration(ForkStep step, void (*run)() noexcept) noexcept {
        register_fork_step(step, run);
    }
};

/// Registers a lock before main() begins. Define it at namespace scope, beside the lock. The lock
/// must be constant-initialised, or be made by the function ForkLock::lock (through a MadeOnce). It
/// must not be a function's static variable: in the child, the variable's guard could be held for
/// ever.
struct ForkRegistration {
    ForkRegistration(ForkOrder order, ForkLock lock) noexcept { register_fork_lock(order, lock); }
    template <class Lock> ForkRegistration(ForkOrder order, Lock& object) noexcept {
        register_fork_lock(order, object);
    }
};

}  // namespace heddle::detail
