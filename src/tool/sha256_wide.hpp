#pragma once

// SHA-256 of many blocks in parallel, each in one 32-bit lane of the vector registers. For
// sha256_cpu.cpp.

#include <cstddef>
#include <cstdint>

namespace heddle::tool::detail {

/// Returns whether the processor and the operating system support sha256_lanes8() (AVX2).
bool sha256_has_lanes8();

/// Returns the same for sha256_lanes16() (AVX-512F and AVX-512BW).
bool sha256_has_lanes16();

/// Hashes `count` consecutive 4096-byte blocks, eight at a time. An incomplete group at the end
/// takes as long as a whole one.
void sha256_lanes8(const std::uint8_t* data, std::size_t count, std::uint8_t* digests);

/// Hashes sixteen blocks at a time.
void sha256_lanes16(const std::uint8_t* data, std::size_t count, std::uint8_t* digests);

}  // namespace heddle::tool::detail
