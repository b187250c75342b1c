#include "collective/roll_address.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "core/base/format.hpp"

namespace heddle::detail {

namespace {

/// The format of the bytes in an id. Integers have the byte order of the host, because NCCL does
/// not support hosts of different byte orders either.
struct Encoded {
    std::array<char, 4> format;
    std::uint16_t port;
    std::uint16_t count;
    std::uint64_t token;
    std::array<std::array<std::uint8_t, 20>, RollAddress::most_hosts> hosts;
    std::array<std::uint8_t, 32> unused;
};
static_assert(sizeof(Encoded) == RollAddress::size);
constexpr std::array<char, 4> format_now{'h', 'r', 'c', '1'};

/// An address that was found, and how promising it is: smaller ranks are tried first.
struct Found {
    HostAddress host;
    int rank;
};

/// Returns whether the name is that of a bridge between virtual machines or containers of one host:
/// other hosts cannot reach it, and often have a bridge with the same address.
bool is_bridge(std::string_view name) noexcept {
    for (const std::string_view prefix : {"docker", "br-", "virbr", "veth", "cni", "flannel"})
        if (name.starts_with(prefix)) return true;
    return false;
}

/// Returns the address of an interface. Its family is 0 if the address is of no use to others.
HostAddress address_of(const sockaddr& found) noexcept {
    HostAddress host;
    if (found.sa_family == AF_INET) {
        std::memcpy(host.bytes.data(), &reinterpret_cast<const sockaddr_in&>(found).sin_addr, 4);
        const bool is_link_local = host.bytes[0] == 169 && host.bytes[1] == 254;
        if (!is_link_local) host.family = 4;
    } else if (found.sa_family == AF_INET6) {
        const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(found).sin6_addr;
        std::memcpy(host.bytes.data(), &address, 16);
        if (!IN6_IS_ADDR_LINKLOCAL(&address)) host.family = 6;
    }
    return host;
}

}  // namespace

void RollAddress::encode(std::span<std::byte> to) const noexcept {
    Encoded all{};
    all.format = format_now;
    all.port = port;
    all.token = token;
    for (std::size_t i = 0; i < std::min(hosts.size(), most_hosts); ++i) {
        all.hosts[i][0] = hosts[i].family;
        std::ranges::copy(hosts[i].bytes, all.hosts[i].begin() + 4);
        ++all.count;
    }
    std::memcpy(to.data(), &all, sizeof all);
}

RollAddress RollAddress::decode(std::span<const std::byte> from) {
    Encoded all;
    std::memcpy(&all, from.data(), sizeof all);
    RollAddress address;
    if (all.format != format_now || all.count > most_hosts) return address;
    address.token = all.token;
    address.port = all.port;
    for (std::size_t i = 0; i < all.count; ++i) {
        HostAddress& host = address.hosts.emplace_back();
        host.family = all.hosts[i][0];
        std::copy_n(all.hosts[i].begin() + 4, host.bytes.size(), host.bytes.begin());
    }
    return address;
}

SocketAddress::SocketAddress(const HostAddress& host, std::uint16_t port) noexcept {
    if (host.family == 6) {
        auto& to = reinterpret_cast<sockaddr_in6&>(storage);
        to.sin6_family = AF_INET6;
        to.sin6_port = htons(port);
        std::memcpy(&to.sin6_addr, host.bytes.data(), 16);
        length = sizeof to;
    } else {
        auto& to = reinterpret_cast<sockaddr_in&>(storage);
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        std::memcpy(&to.sin_addr, host.bytes.data(), 4);
        length = sizeof to;
    }
}

std::vector<HostAddress> own_addresses() {
    std::vector<Found> found;
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) == 0) {
        const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
        for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
            constexpr unsigned wanted = IFF_UP | IFF_RUNNING;
            if (one->ifa_addr == nullptr || (one->ifa_flags & wanted) != wanted ||
                (one->ifa_flags & IFF_LOOPBACK) != 0)
                continue;
            const HostAddress host = address_of(*one->ifa_addr);
            if (host.family != 0)
                found.push_back({host, (is_bridge(one->ifa_name) ? 2 : 0) + (host.family == 6)});
        }
    }
    std::ranges::stable_sort(found, {}, &Found::rank);
    if (found.empty()) found.push_back({{4, {127, 0, 0, 1}}, 0});
    found.resize(std::min(found.size(), RollAddress::most_hosts));
    std::vector<HostAddress> hosts;
    for (const Found& one : found) hosts.push_back(one.host);
    return hosts;
}

std::string text_of(const RollAddress& address) {
    std::string all;
    for (const HostAddress& host : address.hosts) {
        char text[INET6_ADDRSTRLEN] = "";
        inet_ntop(host.family == 6 ? AF_INET6 : AF_INET, host.bytes.data(), text, sizeof text);
        if (!all.empty()) all += ", ";
        all += host.family == 6 ? formatted("[{}]:{}", std::string_view(text), address.port)
                                : formatted("{}:{}", std::string_view(text), address.port);
    }
    return all;
}

}  // namespace heddle::detail
