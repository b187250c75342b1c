// Options of device groups.
#pragma once

#include <cstdint>

#include <heddle/detail/visible.hpp>

namespace heddle HEDDLE_VISIBLE {

/// How a DeviceGroup moves and reduces elements.
enum class Transport : std::uint8_t {
    /// NCCL if it is available and there are two GPUs or more, else copies. If NCCL fails to start,
    /// its error is passed to the report hook, and copies are used.
    automatic,
    copies,  ///< heddle's own copies and kernels
    nccl,    ///< NCCL; throws Unsupported, with the reason, if it cannot be used
};

/// Returns the name of a transport, "copies" for example.
const char* to_string(Transport transport) noexcept;

/// Options of a DeviceGroup.
struct DeviceGroupOptions {
    /// Permanently enables pool access among the devices (heddle/device/peer_access.hpp) if they
    /// can reach each other. Kernels then read other ranks' arrays in place; without it, arrays are
    /// first copied to scratch memory. With NCCL, pool access is always enabled.
    bool access = true;
    /// How elements are transferred; `automatic` is resolved when the group is made.
    Transport transport = Transport::automatic;
};

}  // namespace heddle
