// The child of a fork(), and the end of the process.
#include <atomic>

#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"
#include "cuda/host_sync/event_poller.hpp"
#include "cuda/look/probe.hpp"
#include "cuda/process/devices.hpp"

namespace heddle::detail::cu {

void CudaBackend::poll_outstanding() noexcept {
    if (is_forked() || in_callback) return;
    (void)look_at_exit();
    for (int i = 0; i < max_devices; ++i) {
        Gpu* g = gpu_if_used(i);
        if (g == nullptr || g->lost.load(std::memory_order_acquire)) continue;
        run_cleanups(*g);
    }
}

bool CudaBackend::help_at_exit(const Completion&) noexcept {
    return !is_forked() && !in_callback && look_at_exit();
}

void CudaBackend::after_fork() noexcept {
    if (is_driver_started()) set_forked();  // a started driver does not survive a fork
    forget_event_poller();
    forget_probe();
}

}  // namespace heddle::detail::cu
