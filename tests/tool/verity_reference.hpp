#pragma once

// Reference results for the tests of `heddle digest`. SHA-256 follows FIPS 180-4 word for word. The
// fs-verity digest follows the kernel's documentation. The code is not optimised, and shares
// nothing with src/tool/.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reference {

using Bytes = std::vector<std::uint8_t>;

/// Returns the SHA-256 digest of a message.
inline Bytes sha256(std::span<const std::uint8_t> message) {
    static constexpr std::array<std::uint32_t, 64> k = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
        0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,  //
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
        0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,  //
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
        0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,  //
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,  //
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
        0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,  //
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
        0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,  //
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
        0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,  //
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
        0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
    };
    Bytes padded(message.begin(), message.end());
    padded.push_back(0x80);
    while (padded.size() % 64 != 56) padded.push_back(0);
    for (int shift = 56; shift >= 0; shift -= 8)
        padded.push_back(static_cast<std::uint8_t>((std::uint64_t{message.size()} * 8) >> shift));

    std::array<std::uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (std::size_t at = 0; at < padded.size(); at += 64) {
        std::array<std::uint32_t, 64> w{};
        for (std::size_t t = 0; t < 64; ++t) {
            if (t < 16) {
                for (std::size_t i = 0; i < 4; ++i) w[t] = (w[t] << 8) | padded[at + 4 * t + i];
            } else {
                const std::uint32_t x = w[t - 15];
                const std::uint32_t y = w[t - 2];
                w[t] = w[t - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3)) + w[t - 7] +
                       (std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10));
            }
        }
        auto [a, b, c, d, e, f, g, h] = state;
        for (std::size_t t = 0; t < 64; ++t) {
            const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
            const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
            const std::uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + k[t] + w[t];
            const std::uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
            h = g;
            g = f;
            f = e;
            e = d + t1;
            d = c;
            c = b;
            b = a;
            a = t1 + t2;
        }
        const std::array<std::uint32_t, 8> last = {a, b, c, d, e, f, g, h};
        for (std::size_t i = 0; i < 8; ++i) state[i] += last[i];
    }
    Bytes digest;
    for (const std::uint32_t word : state)
        for (int shift = 24; shift >= 0; shift -= 8)
            digest.push_back(static_cast<std::uint8_t>(word >> shift));
    return digest;
}

/// Returns the fs-verity digest of a file's content: SHA-256, 4096-byte blocks, no salt.
inline Bytes verity_digest_reference(std::span<const std::uint8_t> content) {
    constexpr std::size_t block_bytes = 4096;
    Bytes root(32, 0);
    Bytes level(content.begin(), content.end());
    while (!level.empty()) {
        level.resize((level.size() + block_bytes - 1) / block_bytes * block_bytes, 0);
        Bytes digests;
        for (std::size_t at = 0; at < level.size(); at += block_bytes) {
            const Bytes digest = sha256(std::span{level}.subspan(at, block_bytes));
            digests.insert(digests.end(), digest.begin(), digest.end());
        }
        if (digests.size() == root.size()) {
            root = digests;
            break;
        }
        level = digests;
    }

    Bytes descriptor(256, 0);
    descriptor[0] = 1;   // version
    descriptor[1] = 1;   // SHA-256
    descriptor[2] = 12;  // binary logarithm of the block size
    for (std::size_t i = 0; i < 8; ++i)
        descriptor[8 + i] = static_cast<std::uint8_t>(std::uint64_t{content.size()} >> (8 * i));
    for (std::size_t i = 0; i < root.size(); ++i) descriptor[16 + i] = root[i];
    return sha256(descriptor);
}

/// Returns the content that the tests hash. Byte i depends on every digit of i in base 256. So in a
/// file of less than 4 GiB, blocks that are near each other differ.
inline Bytes patterned(std::size_t size) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::uint8_t>(131 * i + 17 * (i >> 8) + 29 * (i >> 16) +
                                             41 * (i >> 24) + 7);
    return bytes;
}

}  // namespace reference
