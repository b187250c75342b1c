// Reports bad indices of kernels in graphs.
#include <algorithm>
#include <utility>

#include "core/base/kernel_name.hpp"
#include "core/graph/node.hpp"
#include "core/launch/launch.hpp"
#include "cuda/host_sync/bounds_state.hpp"
#include "cuda/host_sync/host_function.hpp"

namespace heddle::detail::cu {

namespace {
constinit thread_local std::unique_ptr<GraphBounds>* built = nullptr;
}

GraphBounds::Building::Building(std::unique_ptr<GraphBounds>* bounds) noexcept
    : before_(std::exchange(built, bounds)) {}
GraphBounds::Building::~Building() { built = before_; }

GraphBounds::GraphBounds(Gpu& g) {
    BoundsState& all = bounds_state(g);
    const std::lock_guard lock(all.mutex);
    all.graphs.reserve(all.graphs.size() + 1);
    report_ = &all.take_unit().report;
    all.graphs.push_back(this);
}

GraphBounds::~GraphBounds() {
    if (is_forked()) return;
    BoundsState& all = *bounds_state_if_made();
    const std::lock_guard lock(all.mutex);
    read();
    std::erase(all.graphs, this);
    for (const auto& kernel : kernels_) all.give_unit(kernel->checked.site);
    all.give_unit(report_);
}

void GraphBounds::set_components(std::vector<std::uint32_t> components) {
    components_ = std::move(components);
}

CheckedKernel& GraphBounds::kernel_of(std::size_t node) {
    if (node != in_body)
        for (const auto& one : kernels_)
            if (one->node == node) return one->checked;
    kernels_.push_back(std::make_unique<Kernel>(Kernel{{}, node}));
    return kernels_.back()->checked;
}

const BoundsSite* site_of_node(const NodeData& node, bool is_body) noexcept try {
    if (built == nullptr || !node.work.type->has_bounds) return nullptr;
    Gpu& g = gpu(node.device.index(), node.where);
    if (*built == nullptr) *built = std::make_unique<GraphBounds>(g);
    GraphBounds& graph = **built;
    const WorkType& type = *node.work.type;
    std::string name = kernel_name(name_of_kernel(type, kernel_of(node.work)));
    BoundsState& all = bounds_state(g);
    const std::lock_guard lock(all.mutex);
    all.used |= std::uint64_t{1} << node.device.index();
    CheckedKernel& kernel = graph.kernel_of(is_body ? GraphBounds::in_body : node.index);
    if (type.kernel == KernelKind::portable && kernel.site == nullptr) {
        BoundsSite& site = all.take_unit().site;
        site.report = graph.report_;
        kernel.site = &site;
    }
    kernel.name = std::move(name);
    kernel.node = node.name;
    kernel.where = node.where;
    kernel.type = &type;
    kernel.closure = node.work.closure;
    return kernel.site;
} catch (...) {
    return nullptr;
}

bool GraphBounds::Launch::is_done() const noexcept {
    return stream->id.load(std::memory_order_acquire) != id ||
           stream->seen_complete.load(std::memory_order_acquire) >= at;
}

void GraphBounds::note_launch(StreamRecord& stream,
                              std::span<const std::shared_ptr<WorkOutcome>> outcomes) {
    stream.set(stream_flag::fallible);
    BoundsState& all = bounds_state(gpu_of(stream));
    Launch launch{&stream,
                  stream.id.load(std::memory_order_acquire),
                  stream.submissions.load(std::memory_order_acquire) + 1,
                  Access::stream(stream).name(),
                  {outcomes.begin(), outcomes.end()}};
    const std::lock_guard lock(all.mutex);
    read();
    const bool all_done = std::ranges::all_of(launches_, &Launch::is_done);
    if (is_read_ && all_done) {
        clear(*report_);
        is_read_ = false;
    }
    if (!is_read_) std::erase_if(launches_, [](const Launch& one) { return one.is_done(); });
    launches_.push_back(std::move(launch));
    ++all.launches;
    for (const auto& kernel : kernels_) kernel->checked.order = all.launches;
}

bool GraphBounds::is_launched_on(const StreamRecord& stream) const noexcept {
    return std::ranges::any_of(launches_, [&](const Launch& one) { return one.stream == &stream; });
}

void GraphBounds::forget_done_launches() noexcept {
    if (std::ranges::all_of(launches_, &Launch::is_done))
        for (const auto& kernel : kernels_) kernel->checked.order = 0;
}

void GraphBounds::read() noexcept {
    if (is_read_) return;
    if (!is_written(*report_)) return;
    is_read_ = true;
    const Kernel* kernel = nullptr;
    for (const auto& one : kernels_)
        if (one->checked.site == report_->site) kernel = one.get();
    fail(kernel, report_->bad);
}

/// Fails all launches that may have used the index.
void GraphBounds::fail(const Kernel* kernel, const BadIndex& bad) noexcept {
    for (const Launch& launch : launches_) {
        const Failure why = failure_of(kernel != nullptr ? &kernel->checked : nullptr, bad,
                                       launch.stream->device, launch.id, launch.name, {});
        if (launch.outcomes.empty()) {
            if (launch.stream->id.load(std::memory_order_acquire) == launch.id)
                launch.stream->poison(why, launch.at);
            continue;
        }
        for (std::size_t i = 0; i < launch.outcomes.size(); ++i)
            if (kernel == nullptr || kernel->node >= components_.size() ||
                components_[kernel->node] == i)
                launch.outcomes[i]->fail(why, outcome_work);
    }
}

}  // namespace heddle::detail::cu
