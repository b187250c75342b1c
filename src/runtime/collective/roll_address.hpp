// The address of a roll call: the part of a CommunicatorId that follows NCCL's bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace heddle::detail {

/// An IPv4 or IPv6 address of a host.
struct HostAddress {
    std::uint8_t family = 0;  ///< 4 or 6
    std::array<std::uint8_t, 16> bytes{};
    bool operator==(const HostAddress&) const = default;
};

/// Where the process that made an id listens, and the number by which it recognises the ranks.
struct RollAddress {
    static constexpr std::size_t most_hosts = 4;
    static constexpr std::size_t size = 128;  ///< of encoded addresses

    std::uint64_t token = 0;
    std::uint16_t port = 0;
    std::vector<HostAddress> hosts;  ///< `most_hosts` at most

    /// Writes the address to `size` bytes.
    void encode(std::span<std::byte> to) const noexcept;
    /// Returns the address that encode() wrote. Its port is 0 if these bytes have another format.
    static RollAddress decode(std::span<const std::byte> from);
};

/// A host and a port, as the operating system's calls take them.
struct SocketAddress {
    SocketAddress(const HostAddress& host, std::uint16_t port) noexcept;
    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
    int family() const noexcept { return storage.ss_family; }

    sockaddr_storage storage{};
    socklen_t length = 0;
};

/// Returns the addresses of this host by which other hosts, containers and processes may reach it,
/// the most promising first. These are the addresses of interfaces that are up, but no link-local
/// ones. The loopback address is returned only if there is no other address.
std::vector<HostAddress> own_addresses();
/// Returns for example "10.0.0.7:4711, [fd00::7]:4711".
std::string text_of(const RollAddress& address);

}  // namespace heddle::detail
