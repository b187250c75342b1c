// Devices: small values that name a GPU or a CPU device, and what is known of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <heddle/detail/location.hpp>

namespace heddle {

enum class DeviceKind : std::uint8_t { cpu = 0, cuda = 1 };

/// The priorities that streams of a device can have. As in CUDA, smaller is more urgent: an H200 has
/// least = 0 and greatest = -5.
struct PriorityRange {
    int least = 0;
    int greatest = 0;
    bool operator==(const PriorityRange&) const = default;
};

/// What a device is, read once when first asked for. Sizes are bytes; 0 is "unknown".
struct DeviceInfo {
    std::string name;              ///< "NVIDIA H200"; for CPU devices the processor's model name
    std::size_t total_memory = 0;  ///< memory of the device; for CPU devices the machine's
    PriorityRange priorities;      ///< of its streams
    int copy_engines = 0;          ///< copies that can run beside kernels; for CPU devices 0
    int processors = 0;            ///< multiprocessors; for CPU devices worker threads
    int compute_major = 0;         ///< compute capability; 0 on CPU devices
    int compute_minor = 0;
    std::string bus_id;  ///< PCI address, empty on CPU devices
};

/// A device: `cuda:i` or `cpu:i`. A value of 8 bytes; equal when it names the same device.
/// Thread-safety: immutable.
class Device {
public:
    /// This thread's current device (see current_device()).
    Device();

    /// Parses "cuda", "cuda:1", "cpu" or "cpu:3" (without a number: the first).
    /// Throws UsageError when the text is not a device, NoDevice when the machine has no such device; the message
    /// then says which there are and, for CUDA, why there are none.
    explicit Device(std::string_view name, SourceLocation where = SourceLocation::current());
    explicit Device(const char* name, SourceLocation where = SourceLocation::current())
        : Device(name != nullptr ? std::string_view(name) : std::string_view(), where) {}
    Device(DeviceKind kind, int index, SourceLocation where = SourceLocation::current());

    DeviceKind kind() const noexcept { return kind_; }
    int index() const noexcept { return index_; }
    bool is_cpu() const noexcept { return kind_ == DeviceKind::cpu; }
    bool is_cuda() const noexcept { return kind_ == DeviceKind::cuda; }

    std::string name() const;  ///< "cuda:0"
    const DeviceInfo& info() const;
    PriorityRange priorities() const { return info().priorities; }

    /// Free bytes of the device's memory now (for CPU devices, the machine's available memory).
    std::size_t free_memory() const;

    /// Whether this device can be allowed to read and write the other's memory directly (memory_access.hpp). True for itself.
    bool can_access_peer(Device other) const;
    /// The same for memory of the other's pool, which heddle's arrays have.
    bool can_access_pool(Device other) const;

    bool operator==(const Device&) const = default;

    /// Without a check, for the library's own tables.
    static constexpr Device unchecked(DeviceKind kind, int index) noexcept {
        return Device(Raw{}, kind, index);
    }

private:
    struct Raw {};
    constexpr Device(Raw, DeviceKind kind, int index) noexcept : kind_(kind), index_(index) {}

    DeviceKind kind_;
    std::int32_t index_;
};

/// Number of devices of a kind. There is always a CPU device; HEDDLE_CPU_DEVICES (1 to 64, default 1) says how
/// many. Without a working driver there are no CUDA devices; this never fails.
int device_count(DeviceKind kind);

/// All devices, CUDA first.
std::vector<Device> devices();

/// Why there are no CUDA devices ("built without CUDA", "no driver: ..."); empty when there are.
std::string cuda_unavailable_reason();

/// The device of threads that have opened no scope: HEDDLE_DEVICE, else cuda:0 where one works, else cpu:0.
Device default_device();

}  // namespace heddle

template <> struct std::hash<heddle::Device> {
    std::size_t operator()(heddle::Device d) const noexcept {
        return static_cast<std::size_t>(d.index()) * 2 + static_cast<std::size_t>(d.kind());
    }
};
