// Devices: values that name a GPU or a CPU device, and their properties.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <heddle/detail/access.hpp>
#include <heddle/detail/conversion.hpp>
#include <heddle/detail/mistakes.hpp>
#include <heddle/location.hpp>

namespace heddle HEDDLE_VISIBLE {

/// The two kinds of devices.
enum class DeviceKind : std::uint8_t { cpu = 0, cuda = 1 };

/// The priorities that a device's streams can have. As in CUDA, a smaller number is more urgent: an
/// H200 has least = 0 and greatest = -5.
struct PriorityRange {
    /// Priority of the least urgent streams.
    int least = 0;
    /// Priority of the most urgent streams.
    int greatest = 0;
    bool operator==(const PriorityRange&) const = default;
};

/// Properties of a device, read once on first use. Sizes are in bytes; 0 means unknown.
struct DeviceInfo {
    std::string name;              ///< "NVIDIA H200"; for CPU devices the processor's model name
    std::size_t total_memory = 0;  ///< device memory; for CPU devices the machine's memory
    PriorityRange priorities;      ///< priorities that the device's streams can have
    int copy_engines = 0;          ///< copies that can overlap kernels; 0 for CPU devices
    int processors = 0;            ///< multiprocessors; for CPU devices worker threads
    int compute_major = 0;         ///< major compute capability; 0 for CPU devices
    /// Minor compute capability; 0 for CPU devices.
    int compute_minor = 0;
    std::string bus_id;  ///< PCI address; empty for CPU devices
};

/// Names a device, such as `cuda:0` or `cpu:1`. A value of 8 bytes; equal values name the same
/// device.
///
///     Device gpu{"cuda:1"};
///     std::printf("%s: %zu bytes\n", gpu.info().name.c_str(), gpu.info().total_memory);
///
/// Errors: making one throws UsageError for a text that names no device, and NoDevice if the
/// machine has no such device. Thread-safety: members do not change it, so threads may share it.
class Device {
public:
    /// Names the calling thread's current device. Deprecated, because the object looks constant.
    [[deprecated("write current_device()")]] Device();

    /// Parses "cuda", "cuda:1", "cpu" or "cpu:3". Without a number, names the first device of the
    /// kind. Throws UsageError if the text names no device, and NoDevice if the machine has no such
    /// device. The message of NoDevice lists the devices or, for CUDA, the reason why there are
    /// none.
    explicit Device(std::string_view name, Where where = {});
    explicit Device(const char* name, Where where = {})
        : Device(name != nullptr ? std::string_view(name) : std::string_view(), where) {}
    /// Throws NoDevice if the machine has no such device.
    Device(DeviceKind kind, int index, Where where = {});
    /// Converts another library's device, if the header of heddle/with/ for it is included.
    template <class From>
        requires detail::ConvertsTo<From, Device>
    explicit Device(const From& from, Where where = {})
        : Device(detail::Conversion<From, Device>::convert(from, where)) {}
    /// Deleted: a number alone does not select a kind of device. Write Device("cuda:0").
    template <std::integral Number>
    explicit Device(Number, mistake::a_Device_has_a_kind_and_a_number = {}) = delete;
    /// Deleted: the number is part of the text. Write Device("cuda:1").
    template <std::integral Number>
    Device(const char*, Number, mistake::a_Device_has_a_kind_and_a_number = {}) = delete;

    /// Returns whether it is a GPU or a CPU device.
    DeviceKind kind() const noexcept { return kind_; }
    /// Returns the device's number among the devices of its kind, from 0.
    int index() const noexcept { return index_; }
    /// Returns whether it is a CPU device.
    bool is_cpu() const noexcept { return kind_ == DeviceKind::cpu; }
    /// Returns whether it is a GPU.
    bool is_cuda() const noexcept { return kind_ == DeviceKind::cuda; }

    std::string name() const;  ///< "cuda:0"
    /// Returns its properties. The reference is valid until the process ends. Thread-safe.
    const DeviceInfo& info() const;
    /// Returns the range of its streams' priorities.
    PriorityRange priorities() const { return info().priorities; }

    /// Returns the free memory in bytes; for CPU devices, the machine's available memory.
    std::size_t free_memory() const;

    /// Returns whether enable_peer_access() can let this device access memory of `other` directly.
    /// Returns true for the device itself and between CPU devices.
    bool can_access_peer(Device other) const;
    /// Returns whether enable_pool_access() can let this device access memory of `other`'s pool,
    /// which holds heddle's arrays. Returns true for the device itself and between CPU devices.
    bool can_access_pool(Device other) const;

    /// Converts to another library's device, if the header of heddle/with/ for it is included.
    template <class To>
        requires detail::ConvertsTo<Device, To>
    operator To() const {
        return detail::convert_to<To>(*this);
    }

    /// Orders CPU devices before GPUs, and devices of one kind by number; for sets and maps.
    auto operator<=>(const Device&) const = default;

private:
    friend detail::Access;
    struct Unchecked {};
    constexpr Device(Unchecked, DeviceKind kind, int index) noexcept : kind_(kind), index_(index) {}

    DeviceKind kind_;
    std::int32_t index_;
};

constexpr Device detail::Access::device(DeviceKind kind, int index) noexcept {
    return {Device::Unchecked(), kind, index};
}

/// Returns the calling thread's current device.
Device current_device();

/// Returns the number of devices of a kind. Never fails: without a working driver there are 0 CUDA
/// devices. HEDDLE_CPU_DEVICES (1 to 64, default 1) sets the number of CPU devices.
int device_count(DeviceKind kind);

/// Returns all devices, CUDA first.
std::vector<Device> devices();

/// Returns why there are no CUDA devices ("built without CUDA", "no driver: ..."), or an empty
/// string if there are some.
std::string cuda_unavailable_reason();

/// Returns the initial current device of every thread: the one that HEDDLE_DEVICE names; otherwise
/// cuda:0 if a GPU works, or cpu:0. Throws UsageError or NoDevice if HEDDLE_DEVICE names no device
/// of this machine.
Device default_device();

}  // namespace heddle

template <> struct std::hash<heddle::Device> {
    std::size_t operator()(heddle::Device d) const noexcept {
        return static_cast<std::size_t>(d.index()) * 2 + static_cast<std::size_t>(d.kind());
    }
};
