// The child of a fork(), and the end of the process.
#include "cpu/device/backend.hpp"
#include "cpu/executor/executor.hpp"
#include "cpu/executor/fibers.hpp"

namespace heddle::detail::cpu {

bool CpuBackend::help_at_exit(const Completion& done) noexcept {
    // The workers are ending. A worker that still runs an operation may schedule more work, so the
    // caller calls this function repeatedly.
    Executor* const closed = executor_if_made();
    if (closed == nullptr || !closed->is_closed()) return false;
    while (!done.is_done() && closed->run_one()) {}
    return true;
}

void CpuBackend::after_fork() noexcept {
    forget_executor();
    forget_fibers();
}

}  // namespace heddle::detail::cpu
