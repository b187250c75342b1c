#pragma once

// Reference results for the tests of `heddle digest`. The fs-verity digest follows the kernel's
// documentation. Its code is not optimised. It shares only the call of libcrypto with src/tool/.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../../src/tool/sha256.hpp"

namespace reference {

using Bytes = std::vector<std::uint8_t>;

/// Returns the SHA-256 digest of a message, by libcrypto. Published vectors check it, too.
inline Bytes sha256(std::span<const std::uint8_t> message) {
    Bytes digest(heddle::tool::sha256_bytes);
    heddle::tool::sha256(message.data(), message.size(), digest.data());
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
