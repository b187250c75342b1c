#pragma once

// SHA-256 of many blocks side by side: one 32-bit lane of the vector registers for each. For sha256_cpu.cpp.

#include <cstddef>
#include <cstdint>

namespace heddle::tool::detail {

/// Whether the processor and the operating system have what sha256_lanes8 (AVX2) needs.
bool sha256_has_lanes8();

/// The same for sha256_lanes16 (AVX-512F and AVX-512BW).
bool sha256_has_lanes16();

/// Digests of `count` consecutive 4096-byte blocks, eight at a time. What is left over at the end takes as long
/// as eight.
void sha256_lanes8(const std::uint8_t* data, std::size_t count, std::uint8_t* digests);

/// The same, sixteen at a time.
void sha256_lanes16(const std::uint8_t* data, std::size_t count, std::uint8_t* digests);

}  // namespace heddle::tool::detail
