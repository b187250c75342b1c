#pragma once

// SHA-256 of many blocks in parallel. Each block uses one 32-bit lane of the vector registers. Used
// by sha256_cpu.cpp.

#include <cstddef>
#include <cstdint>

namespace heddle::tool::detail {

/// Returns whether the processor and the operating system support sha256_lanes8() (AVX2).
bool sha256_has_lanes8();

/// Returns whether the processor and the operating system support sha256_lanes16() (AVX-512F and
/// AVX-512BW).
bool sha256_has_lanes16();

/// Hashes `count` consecutive 4096-byte blocks, eight at a time. If fewer than eight blocks are
/// left at the end, hashing them takes as long as hashing eight.
void sha256_lanes8(const std::uint8_t* data, std::size_t count, std::uint8_t* digests);

/// Like sha256_lanes8(), but hashes sixteen blocks at a time.
void sha256_lanes16(const std::uint8_t* data, std::size_t count, std::uint8_t* digests);

}  // namespace heddle::tool::detail
