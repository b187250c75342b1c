// Devices: parsing, enumeration, properties.
#include <heddle/device/device.hpp>

#include <charconv>

#include "core/base/environment.hpp"
#include "core/base/errors.hpp"
#include "core/base/format.hpp"

#include "core/base/made_once.hpp"
#include "core/seam/backend.hpp"
#include <heddle/error.hpp>
#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/detail/thread_state.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle {

namespace {

const char* kind_name(DeviceKind kind) noexcept {
    return kind == DeviceKind::cuda ? "cuda" : "cpu";
}

void check_there(DeviceKind kind, int index, const char* call, const SourceLocation& where) {
    const int count = device_count(kind);
    if (index >= 0 && index < count) return;
    std::string why;
    if (count == 1) why = detail::formatted("use {}:0", kind_name(kind));
    else if (count > 1)
        why = detail::formatted("use {}:0 to {}:{}", kind_name(kind), kind_name(kind), count - 1);
    else why = cuda_unavailable_reason();
    if (kind == DeviceKind::cpu) why += " (HEDDLE_CPU_DEVICES sets the number)";
    detail::coded_error(ErrorCode::no_device, {call, where}, "device {}:{} does not exist: {}",
                        kind_name(kind), index, why);
}

Device parse(std::string_view text, const char* call, const SourceLocation& where) {
    const std::size_t colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    int index = 0;
    bool valid = kind == "cuda" || kind == "cpu";
    if (valid && colon != std::string_view::npos) {
        const std::string_view number = text.substr(colon + 1);
        const auto [end, code] =
            std::from_chars(number.data(), number.data() + number.size(), index);
        valid = code == std::errc() && end == number.data() + number.size() && index >= 0;
    }
    if (!valid)
        detail::usage_error(
            {call, where},
            "\"{}\" is not a device: write \"cpu\", \"cuda\" or, with a number, \"cuda:1\"", text);
    const DeviceKind found = kind == "cuda" ? DeviceKind::cuda : DeviceKind::cpu;
    check_there(found, index, call, where);
    return detail::Access::device(found, index);
}

}  // namespace

Device::Device() : Device(current_device()) {}

Device::Device(std::string_view name, Where where) try : Device(parse(name, "Device", where)) {
} catch (...) {
    detail::rethrow_as_error("Device", where);
}

Device::Device(DeviceKind kind, int index, Where where) try : kind_(kind), index_(index) {
    check_there(kind, index, "Device", where);
} catch (...) {
    detail::rethrow_as_error("Device", where);
}

std::string Device::name() const try {
    return detail::formatted("{}:{}", kind_name(kind_), index_);
} catch (...) {
    detail::rethrow_as_error("Device::name", {});
}

const DeviceInfo& Device::info() const try {
    static constinit detail::MadeOnce<DeviceInfo> infos[2][detail::max_devices];
    return infos[static_cast<int>(kind_)][index_].get(
        [&] { return new DeviceInfo(detail::backend_of(kind_).describe(index_)); });
} catch (...) {
    detail::rethrow_as_error("Device::info", {});
}

std::size_t Device::free_memory() const try {
    return detail::backend_of(kind_).free_memory(index_);
} catch (...) {
    detail::rethrow_as_error("free_memory", {});
}

bool Device::can_access_peer(Device other) const try {
    return kind_ == other.kind_ &&
           (index_ == other.index_ ||
            detail::backend_of(kind_).can_access_peer(index_, other.index_));
} catch (...) {
    detail::rethrow_as_error("can_access_peer", {});
}

bool Device::can_access_pool(Device other) const try {
    return kind_ == other.kind_ &&
           (index_ == other.index_ ||
            detail::backend_of(kind_).can_access_pool(index_, other.index_));
} catch (...) {
    detail::rethrow_as_error("can_access_pool", {});
}

int device_count(DeviceKind kind) { return detail::backend_of(kind).device_count(); }

std::vector<Device> devices() try {
    std::vector<Device> all;
    for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::cpu})
        for (int i = 0; i < device_count(kind); ++i) all.push_back(detail::Access::device(kind, i));
    return all;
} catch (...) {
    detail::rethrow_as_error("devices", {});
}

std::string cuda_unavailable_reason() try {
    return detail::cuda_backend().unavailable_reason();
} catch (...) {
    detail::rethrow_as_error("cuda_unavailable_reason", {});
}

Device default_device() try {
    // A bad HEDDLE_DEVICE throws at each call, because nothing is stored then.
    static constinit detail::MadeOnce<Device> device;
    return device.get([] {
        if (const char* const wanted = detail::value_of(detail::Variable::device))
            return new Device(parse(wanted, "HEDDLE_DEVICE", {}));
        return new Device(device_count(DeviceKind::cuda) > 0
                              ? detail::Access::device(DeviceKind::cuda, 0)
                              : detail::Access::device(DeviceKind::cpu, 0));
    });
} catch (...) {
    detail::rethrow_as_error("default_device", {});
}

}  // namespace heddle
