#include "collective/group.hpp"

#include <algorithm>

#include "core/base/errors.hpp"
#include "core/base/made_once.hpp"
#include "core/base/report.hpp"
#include "core/seam/backend.hpp"
#include <heddle/device/peer_access.hpp>
#include <heddle/error.hpp>

namespace heddle {

const char* to_string(ReduceOp op) noexcept {
    switch (op) {
    case ReduceOp::sum: return "sum";
    case ReduceOp::product: return "product";
    case ReduceOp::min: return "min";
    case ReduceOp::max: return "max";
    case ReduceOp::average: return "average";
    }
    return "?";
}

const char* to_string(Transport transport) noexcept {
    switch (transport) {
    case Transport::automatic: return "automatic";
    case Transport::copies: return "copies";
    case Transport::nccl: return "NCCL";
    }
    return "?";
}

namespace {

void check_devices(const std::vector<Device>& devices, const SourceLocation& where) {
    const detail::ErrorSite site{"DeviceGroup", where};
    if (devices.empty())
        detail::usage_error(site, "the list of devices is empty: pass at least one device");
    if (devices.size() > detail::max_ranks)
        detail::usage_error(site, "{} devices are too many for a group: pass at most {}",
                            devices.size(), detail::max_ranks);
    for (auto d = devices.begin(); d != devices.end(); ++d) {
        if (d->kind() != devices[0].kind())
            detail::usage_error(
                site, "{} and {} are of different kinds: pass devices of one kind, or use copy()",
                devices[0], *d);
        if (std::find(devices.begin(), d, *d) != d)
            detail::usage_error(site, "{} is in the group twice: pass each device once", *d);
    }
}

void enable_access(const std::vector<Device>& devices, const SourceLocation& where) {
    for (const Device a : devices)
        for (const Device b : devices)
            if (a != b && a.can_access_peer(b)) enable_pool_access(a, b, where);
}

std::vector<std::unique_ptr<detail::NcclRank>> join(const std::vector<Device>& devices,
                                                    Transport transport,
                                                    const SourceLocation& where) {
    if (transport == Transport::copies) return {};
    if (transport == Transport::nccl) {
        if (devices[0].is_cuda()) return detail::nccl_join_all(devices, where);
        detail::unsupported_error({"DeviceGroup", where},
                                  "NCCL supports CUDA devices only, not {}: use Transport::copies",
                                  devices[0]);
    }
    if (devices[0].is_cpu() || devices.size() < 2 || !detail::nccl_missing().empty()) return {};
    try {
        return detail::nccl_join_all(devices, where);
    } catch (const NativeError& error) {
        detail::report(error);  // continues with copies instead
        return {};
    }
}

}  // namespace

DeviceGroup::DeviceGroup(std::vector<Device> devices, DeviceGroupOptions options, Where where) try {
    check_devices(devices, where);
    state_ = std::make_unique<detail::GroupState>(detail::GroupState{std::move(devices), options});
    state_->nccl = join(state_->devices, options.transport, where);
    // Within a process, NCCL's kernels read and write the arrays of other ranks directly.
    if (options.access || !state_->nccl.empty()) enable_access(state_->devices, where);
    state_->ranks.reserve(state_->devices.size());
    for (const Device device : state_->devices) state_->ranks.emplace_back(device);
} catch (...) {
    detail::rethrow_as_error("DeviceGroup", where);
}
DeviceGroup::DeviceGroup(DeviceGroup&&) noexcept = default;
DeviceGroup& DeviceGroup::operator=(DeviceGroup&&) noexcept = default;
DeviceGroup::~DeviceGroup() = default;

std::size_t DeviceGroup::size() const noexcept {
    return state_ != nullptr ? state_->devices.size() : 0;
}
namespace {
constinit detail::NeverDestroyed<std::vector<Device>> none;
}
const std::vector<Device>& DeviceGroup::devices() const noexcept {
    return state_ != nullptr ? state_->devices : none.get();
}

Transport DeviceGroup::transport() const noexcept {
    return state_ != nullptr && !state_->nccl.empty() ? Transport::nccl : Transport::copies;
}

void DeviceGroup::run(detail::CollectiveCall call) try {
    if (state_ == nullptr)
        detail::throw_moved_from({detail::to_string(call.kind), call.where}, "group");
    detail::check_call(state_->devices, call);
    if (detail::can_use_nccl(*state_, call)) detail::run_with_nccl(*state_, call);
    else detail::CollectiveRun(*state_, call).run();
} catch (...) {
    detail::rethrow_as_error("run", call.where);
}

}  // namespace heddle
