#include "cuda/graph/destroy.hpp"

#include <utility>

#include "core/base/report.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"
#include "cuda/graph/cached_graphs.hpp"
#include "cuda/host_sync/wait_gate.hpp"

namespace heddle::detail::cu {

namespace {

bool is_idle(const StreamUse& use) noexcept {
    const std::lock_guard life(use.stream->life);
    const auto native = static_cast<cudaStream_t>(use.stream->native);
    if (!use.is_same()) return true;
    if (native == nullptr) return false;
    const OnStream on(gpu_of(*use.stream), native);
    return api.cuStreamQuery(native) == CUDA_SUCCESS;
}

/// Returns whether all launches are done. If out of memory, returns false.
bool is_done(Doomed& one) noexcept try {
    if (one.last.stream != nullptr) {
        const bool is_captured = any_capturing(&one.last, 1);
        one.native.host_graph.set_used(is_captured);
        if (is_captured) return false;
        if (!is_idle(one.last)) add_pending_use(one.launch, one.last);
        one.last = {};
    }
    return have_ended(one.launch);
} catch (...) {
    if (!is_want_of_memory()) report(std::current_exception());
    return false;
}

/// Destroys an executable with wait_gate closed: even without conditional nodes, the driver
/// sometimes waits for the device while it holds its own lock. Returns false if the gate cannot be
/// closed now.
bool destroy_at_gate(std::unique_ptr<Doomed>& one) noexcept {
    if (!wait_gate.close()) return false;
    destroy_natively(*one);
    wait_gate.open();
    one.reset();
    return true;
}

/// Destroys or keeps an executable whose launches are done. CUDA allows destroying an executable
/// while a launch of it runs. heddle waits for the launch: without that, random programs crashed or
/// computed wrong results under load (driver 580).
///
/// Returns false if the caller has to try again later. `must_end`: destroys it without closing the
/// gate.
bool destroy_or_keep(std::unique_ptr<Doomed>& one, bool must_end = false) noexcept {
    if (in_callback) return false;
    RelaxedCapture relaxed;
    if (!is_done(*one)) return false;
    for (NativeNode& node : one->native.nodes) node.event = {};
    one->native.replaced.clear();
    const bool has_executable = one->native.exec != nullptr;
    if (has_executable && one->native.has_conditions) {
        cache_graph(std::move(one));
        return true;
    }
    if (has_executable && !must_end) return destroy_at_gate(one);
    destroy_natively(*one);
    one.reset();
    return true;
}

void destroy_later(Gpu& g, std::unique_ptr<Doomed> one) noexcept {
    const std::lock_guard lock(g.cleanups_mutex);
    g.doomed.add(std::move(one));
    note_cleanups(g);
}

}  // namespace

void destroy_natively(Doomed& one) noexcept {
    one.native.exec.reset();
    one.native.graph.reset();
}

void destroy_when_done(Gpu& g, std::unique_ptr<Doomed> one) noexcept {
    one->native.host_graph.set_used(false);
    if (!destroy_or_keep(one)) destroy_later(g, std::move(one));
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
    constexpr std::size_t most_at_gate = 256;
    for (; first_ != nullptr; --count_) {
        std::unique_ptr<Doomed> one = std::move(first_);
        first_ = std::move(one->next);
        if (!destroy_or_keep(one, count_ > most_at_gate)) destroy_later(g, std::move(one));
    }
}

}  // namespace heddle::detail::cu
