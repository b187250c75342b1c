#include "cuda/graph/destroy.hpp"

#include <utility>

#include "core/base/made_once.hpp"
#include "core/base/report.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"

namespace heddle::detail::cu {

namespace {

void destroy_now(Gpu& g, cudaGraph_t graph, cudaGraphExec_t exec) noexcept {
    RelaxedCapture relaxed;
    InContext in(g);
    if (exec != nullptr)
        note_failure(api.cudaGraphExecDestroy(exec), "cudaGraphExecDestroy", g.index);
    if (graph != nullptr) note_failure(api.cudaGraphDestroy(graph), "cudaGraphDestroy", g.index);
}

/// Executables with conditional nodes, kept until it is safe to destroy them.
///
/// Destroying one waits for work of the device: its own (3000 ms behind a kernel of 3 s) and that
/// of others. The driver waits with a lock held that other threads' calls need. If that work waits
/// for a CPU stream, which continues only once a thread has queried an event, this is a deadlock
/// (driver 580, seen with random programs). So only trim_pool() destroys them, and an allocation or
/// instantiation that finds no memory left (docs/adr/0016).
struct Kept {
    SpinLock lock;
    std::unique_ptr<Doomed> first[max_devices];
};
constinit NeverDestroyed<Kept> instance;
Kept& kept() noexcept { return instance.get(); }

void keep(Gpu& g, std::unique_ptr<Doomed> one) noexcept {
    const std::lock_guard lock(kept().lock);
    std::unique_ptr<Doomed>& first = kept().first[g.index];
    one->next = std::move(first);
    first = std::move(one);
}

bool is_idle(const StreamUse& use) noexcept {
    const std::lock_guard life(use.stream->life);
    const auto native = static_cast<cudaStream_t>(use.stream->native);
    if (!use.is_same()) return true;
    if (native == nullptr) return false;
    const OnStream on(gpu_of(*use.stream), native);
    return api.cuStreamQuery(native) == CUDA_SUCCESS;
}

/// Returns false if a launch may still be running, or if there is no memory to find out.
bool is_done(Doomed& one) noexcept try {
    if (one.last.stream != nullptr) {
        if (any_capturing(&one.last, 1)) return false;
        if (!is_idle(one.last)) add_fence(one.launch, one.last);
        one.last = {};
    }
    return passed(one.launch);
} catch (...) {
    if (!is_want_of_memory()) report(std::current_exception());
    return false;
}

/// CUDA allows destroying an executable while a launch of it runs. heddle does not do it: random
/// programs that did crashed and computed wrong results under load (driver 580).
///
/// Returns false if it has to be done later.
bool destroy_or_keep(Gpu& g, std::unique_ptr<Doomed>& one) noexcept {
    if (in_callback) return false;
    RelaxedCapture relaxed;
    if (!is_done(*one)) return false;
    one->events.clear();
    one->replaced_events.clear();
    if (one->has_conditions && one->exec != nullptr) keep(g, std::move(one));
    else destroy_now(g, one->graph, one->exec);
    return true;
}

}  // namespace

void destroy_when_done(Gpu& g, std::unique_ptr<Doomed> one) noexcept {
    if (destroy_or_keep(g, one)) return;
    const std::lock_guard lock(g.chores_mutex);
    g.doomed.add(std::move(one));
    note_chores(g);
}

void DoomedGraphs::add(std::unique_ptr<Doomed> one) noexcept {
    one->next = std::move(first_);
    first_ = std::move(one);
    ++count_;
}

DoomedGraphs::DoomedGraphs() noexcept = default;
DoomedGraphs::~DoomedGraphs() {
    while (first_ != nullptr) first_ = std::move(first_->next);
}

void DoomedGraphs::take(DoomedGraphs& from) noexcept {
    first_.swap(from.first_);
    std::swap(count_, from.count_);
}

void DoomedGraphs::destroy(Gpu& g) noexcept {
    count_ = 0;
    while (first_ != nullptr) {
        std::unique_ptr<Doomed> one = std::move(first_);
        first_ = std::move(one->next);
        destroy_when_done(g, std::move(one));
    }
}

bool destroy_kept_graphs(int device) noexcept {
    std::unique_ptr<Doomed> first;
    {
        const std::lock_guard lock(kept().lock);
        first = std::move(kept().first[device]);
    }
    const bool any = first != nullptr;
    for (; first != nullptr; first = std::move(first->next))
        destroy_now(*gpu_if_used(device), first->graph, first->exec);
    return any;
}

}  // namespace heddle::detail::cu
