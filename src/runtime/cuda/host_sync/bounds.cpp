#include "cuda/host_sync/bounds_state.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/base/kernel_name.hpp"
#include "core/base/made_once.hpp"
#include "core/failure/bad_index.hpp"
#include "core/failure/late_failures.hpp"
#include "core/launch/launch.hpp"
#include "cuda/device/context.hpp"

namespace heddle::detail::cu {

static_assert(sizeof(BoundsUnit) == 64);

namespace {

constinit MadeOnce<BoundsState> made_state;

void look() noexcept {
    if (is_forked()) return;
    if (BoundsState* const state = made_state.if_made()) {
        const std::lock_guard lock(state->mutex);
        state->read();
    }
}

std::string key_of(const LaunchCall& call) {
    std::string key;
    const auto add = [&](const auto& value) {
        key.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    add(call.type.op);
    add(call.where.file);
    add(call.where.line);
    add(call.where.column);
    if (call.type.kernel == KernelKind::global) add(call.addresses[0]);
    for (const MemoryArgument& one : call.memory) {
        add(one.data);
        add(one.bytes);
        add(one.rows);
        add(one.argument);
    }
    return key;
}

}  // namespace

BoundsState& bounds_state(Gpu& g) {
    BoundsState& all = made_state.get();
    all.reserve_units(g);
    find_late_failures.store(&look, std::memory_order_release);
    return all;
}

BoundsState* bounds_state_if_made() noexcept { return made_state.if_made(); }

Failure failure_of(const CheckedKernel* kernel, BadIndex bad, Device device, std::uint64_t stream,
                   const std::string& name, const SourceLocation& where) noexcept {
    try {
        if (kernel != nullptr) bad.argument = kernel->find_argument(bad.data);
        const bool is_node = kernel != nullptr && !kernel->node.empty();
        ErrorInfo info = info_of_index(kernel != nullptr ? kernel->call : "launch",
                                       kernel != nullptr ? kernel->where : where,
                                       kernel != nullptr ? kernel->name : "a __global__ function",
                                       bad, is_node ? &kernel->node : nullptr);
        info.device = device;
        info.stream_id = stream;
        info.stream = name;
        return make_failure(std::move(info));
    } catch (...) {
        return no_memory_failure();
    }
}

int CheckedKernel::find_argument(const void* data) const {
    for (const MemoryArgument& one : memory)
        if (one.data == data) return one.argument + 1;
    if (closure == nullptr) return -1;
    // The first member of a view is its address.
    std::vector<void*> parts(type->parts() + 1);
    type->addresses(closure.get(), parts.data());
    const auto* const bytes = static_cast<const std::byte*>(closure.get());
    for (std::size_t at = 0; at + sizeof data <= type->op->size; at += sizeof data) {
        if (std::memcmp(bytes + at, &data, sizeof data) != 0) continue;
        std::size_t found = 0;
        const auto holds = [&](std::size_t i) {
            return parts[i] <= bytes + at && (parts[found] > bytes + at || parts[i] > parts[found]);
        };
        for (std::size_t i = 0; i < type->parts(); ++i)
            if (holds(i)) found = i;
        return found <= type->dimensions ? 0 : static_cast<int>(found - type->dimensions);
    }
    return -1;
}

void BoundsState::reserve_units(Gpu& g) {
    constexpr std::size_t least = 64, slab = 1024;
    {
        const std::lock_guard lock(mutex);
        if (free_units.size() >= least) return;
    }
    void* made = nullptr;
    {
        const RelaxedCapture relaxed;
        const InContext in(g);
        if (api.cudaHostAlloc(&made, slab * sizeof(BoundsUnit),
                              cudaHostAllocPortable | cudaHostAllocMapped) != cudaSuccess) {
            cudaGetLastError();
            throw std::bad_alloc();
        }
    }
    const std::lock_guard lock(mutex);
    free_units.reserve(unit_count + slab);
    for (std::size_t i = 0; i < slab; ++i) free_units.push_back(static_cast<BoundsUnit*>(made) + i);
    unit_count += slab;
}

BoundsUnit& BoundsState::take_unit() {
    if (free_units.empty()) throw std::bad_alloc();
    BoundsUnit& unit = *free_units.back();
    free_units.pop_back();
    std::memset(static_cast<void*>(&unit), 0, sizeof unit);
    return unit;
}

void BoundsState::give_unit(const void* unit) noexcept {
    if (unit == nullptr) return;
    // Does not allocate: reserve_units() has reserved the space.
    free_units.push_back(static_cast<BoundsUnit*>(const_cast<void*>(unit)));
}

void BoundsState::read() noexcept {
    for (auto& [stream, of] : streams) of.read(*stream);
    for (GraphBounds* const graph : graphs) graph->read();
}

void BoundsOfStream::read(StreamRecord& stream) noexcept {
    if (report == nullptr || is_read) return;
    const std::uint64_t seen = stream.seen_complete.load(std::memory_order_acquire);
    const bool is_same = stream.id.load(std::memory_order_acquire) == id;
    if (!is_written(*report)) {
        if (is_same) clean = std::max(clean, seen);
        return;
    }
    is_read = true;
    if (!is_same) return;
    const Kernel* kernel = nullptr;
    for (const auto& [key, one] : kernels)
        if (one.site == report->site) kernel = &one;
    stream.poison(failure_of(kernel, report->bad, stream.device, id, name, {}),
                  kernel != nullptr ? kernel->since : clean + 1);
}

void BoundsState::forget_old(StreamRecord& stream, BoundsOfStream& of) noexcept {
    constexpr std::size_t many = 4096;
    if (of.kernels.size() < many || of.kernels.size() % many != 0) return;
    of.read(stream);
    if (of.is_read) return;
    std::erase_if(of.kernels, [&](const auto& one) {
        if (one.second.last > of.clean) return false;
        give_unit(one.second.site);
        return true;
    });
}

const BoundsSite* site_of_launch(StreamRecord& stream, const LaunchCall& call) noexcept try {
    // Set before the launch, so that streams which wait for this one treat it as fallible.
    stream.set(stream_flag::fallible);
    call.type.addresses(call.closure, call.addresses);
    std::string key = key_of(call), name = Access::stream(stream).name();
    const std::uint64_t id = stream.id.load(std::memory_order_acquire);
    const std::uint64_t at = stream.submissions.load(std::memory_order_acquire) + 1;
    BoundsState& all = bounds_state(gpu_of(stream));
    std::unique_lock lock(all.mutex);
    all.used |= std::uint64_t{1} << stream.device.index();
    BoundsOfStream& of = all.streams[&stream];
    if (of.report == nullptr) of.report = &all.take_unit().report;
    if (of.id != id) {  // all work of the stream that used this record before has completed
        for (const auto& [text, one] : of.kernels) all.give_unit(one.site);
        of = {.id = id, .name = {}, .report = of.report, .kernels = {}};
        clear(*of.report);
    }
    of.name = std::move(name);
    if (of.is_read && stream.seen_complete.load(std::memory_order_acquire) >= of.newest) {
        clear(*of.report);
        of.is_read = false;
        of.clean = of.newest;
    }
    all.forget_old(stream, of);
    if (!of.kernels.contains(key)) {
        // Unlocks, because kernel_name() may call CUDA for the name of a `__global__` function.
        // `of` stays valid: elements of the map keep their addresses.
        lock.unlock();
        BoundsOfStream::Kernel made;
        made.name = kernel_name(name_of_kernel(call.type, call.addresses[0]));
        made.where = call.where;
        made.memory.assign(call.memory.begin(), call.memory.end());
        made.type = &call.type;
        lock.lock();
        of.kernels.emplace(key, std::move(made));
    }
    BoundsOfStream::Kernel& kernel = of.kernels.at(key);
    if (call.type.kernel == KernelKind::portable && kernel.site == nullptr) {
        BoundsSite& site = all.take_unit().site;
        site.report = of.report;
        kernel.site = &site;
    }
    if (kernel.since <= of.clean) kernel.since = at;
    kernel.last = of.newest = at;
    kernel.order = ++all.launches;
    return kernel.site;
} catch (...) {
    return nullptr;
}

}  // namespace heddle::detail::cu

namespace heddle::detail {

bool register_bounds_report(const void* symbol) noexcept try {
    cu::BoundsState& all = cu::made_state.get();
    const std::lock_guard lock(all.files_mutex);
    all.files.push_back({symbol});
    return true;
} catch (...) {
    return false;
}

}  // namespace heddle::detail
