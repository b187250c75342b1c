#include "cuda/device/gpu.hpp"

#include <atomic>
#include <mutex>

namespace heddle::detail::cu {

namespace {

constinit std::mutex start_mutex;

Gpu& start(int index, const SourceLocation& where) {
    std::lock_guard lock(start_mutex);
    if (Gpu* g = used_gpus[index].load(std::memory_order_acquire)) return *g;
    Gpu* const g = start_gpu(index, where);
    used_gpus[index].store(g, std::memory_order_release);
    return *g;
}

}  // namespace

Gpu* gpu_if_used(int index) noexcept {
    return index >= 0 && index < max_devices ? used_gpus[index].load(std::memory_order_acquire)
                                             : nullptr;
}

Gpu& gpu(int index, const SourceLocation& where) {
    refuse_forked("heddle", where);
    Gpu* g = gpu_if_used(index);
    if (g == nullptr) g = &start(index, where);
    if (g->lost.load(std::memory_order_acquire)) throw_error(*g->failure);
    return *g;
}

}  // namespace heddle::detail::cu
