// Helpers for tests of roll calls.
#pragma once

#include "catch.hpp"
#include "child.hpp"
#include "collective/roll_address.hpp"
#include "collective/roll_call.hpp"
#include "support.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heddle_test {

using detail::join_roll_call;
using detail::open_roll_call;
using detail::RollAddress;
using detail::RollMember;

using Member = std::unique_ptr<RollMember>;
constexpr std::chrono::milliseconds no_limit{0};

/// Joins without a limit. The test's watchdog ends a test that hangs.
inline Member join(const RollAddress& address, std::size_t rank, std::size_t size) {
    return join_roll_call(address, rank, size, no_limit, {});
}

/// Lets all ranks join, each on its own thread.
inline std::vector<Member> join_all(const RollAddress& address, std::size_t size) {
    std::vector<Member> members(size);
    on_threads(size, [&](std::size_t i) { members[i] = join(address, i, size); });
    return members;
}

inline std::string hex_of(const RollAddress& address) {
    std::array<std::byte, RollAddress::size> bytes;
    address.encode(bytes);
    return hex_of(std::span<const std::byte>(bytes));
}
inline RollAddress address_of(const std::string& text) {
    std::array<std::byte, RollAddress::size> bytes;
    read_hex(text, bytes);
    return RollAddress::decode(bytes);
}

}  // namespace heddle_test
