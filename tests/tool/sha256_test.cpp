// SHA-256 and the fs-verity digest. Expected values are published vectors and the tests' own
// reference. For files that contain `reference::patterned`, they are the output of `fsverity
// digest` (fsverity-utils 1.5).

#include "catch.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "../../src/tool/verity.hpp"
#include "verity_reference.hpp"

using namespace heddle::tool;
using reference::Bytes;
using reference::patterned;

namespace {

/// Hashes blocks with the arithmetic that GPUs use.
void blocks_as_on_gpus(const std::uint8_t* data, std::size_t count, std::uint8_t* digests) {
    for (std::size_t i = 0; i < count; ++i)
        sha256_block(data + i * sha256_block_bytes, digests + i * sha256_bytes);
}

using HashBlocks = void (*)(const std::uint8_t*, std::size_t, std::uint8_t*);

/// The ways to hash blocks: a CPU's and a GPU's.
constexpr HashBlocks ways[] = {sha256_blocks, blocks_as_on_gpus};

Bytes text(std::string_view characters) { return Bytes(characters.begin(), characters.end()); }

std::string digest_hex(const Bytes& message) {
    Sha256Digest digest{};
    sha256(message.data(), message.size(), digest.data());
    return to_hex(digest);
}

Sha256Digest as_digest(const Bytes& bytes) {
    Sha256Digest digest{};
    std::copy_n(bytes.begin(), digest.size(), digest.begin());
    return digest;
}

/// Computes the file's digest with src/tool/, level by level, like the program.
Sha256Digest digest_by_levels(HashBlocks hash_blocks, const Bytes& content) {
    const VerityTree tree{content.size()};
    if (content.empty()) return verity_digest(0, Sha256Digest{});
    Bytes level = content;
    level.resize(tree.bytes(0), 0);
    for (int i = 1; i <= tree.levels(); ++i) {
        Bytes next(tree.bytes(i), 0);
        hash_blocks(level.data(), tree.blocks(i - 1), next.data());
        level = std::move(next);
    }
    Sha256Digest root{};
    hash_blocks(level.data(), 1, root.data());
    return verity_digest(content.size(), root);
}

struct Golden {
    std::size_t bytes;
    int levels;
    const char* digest;
};

constexpr std::size_t block = 4096;

const Golden golden[] = {
    {0, 0, "3d248ca542a24fc62d1c43b916eae5016878e2533c88238480b26128a1f1af95"},
    {1, 0, "f30ad420d7e839002c5bfec7fe47367c7cd3759445359f0c9ac78bac40d9108f"},
    {block - 1, 0, "cca57f33d14f626017ac06c799d1a53c74abe03a51bee53db5537cf6d2085c5b"},
    {block, 0, "371abbef8fecce0976a6d2a804a95f186e8a81eb5b6bc0188ee395f951d7c9f8"},
    {block + 1, 1, "db33a66b3a4e0961ffd09f00a4746fe3e6278023fc367436f4ebf862a0270d31"},
    {128 * block - 1, 1, "69c2d6ad5ec38631fcf690d514ef15ad2bdae97fdb96b1d0952606fdb9d5ed14"},
    {128 * block, 1, "4a898289cb42dba7c6dc507db090e9993ba6eba6204bde1bfe44deec3df95eba"},
    {128 * block + 1, 2, "546b0d92ef5ac3dab1f08e5e856629c091a1e6d90afeb5b6a7975b50ded92d8c"},
    {133 * block + 9, 2, "9f65fdaa884411c585f31daa9b6f2116a6880ad986e8558376ba299d88adef73"},
};

/// Sizes just below and above 64 MiB. Above it, the tree has a third level.
const Golden golden_large[] = {
    {128 * 128 * block, 2, "0edf892c6eaa4402380caf1053a732fa86a82ab618cfb3936a80c6374f3704f5"},
    {128 * 128 * block + 1, 3, "30b436dea9fbcd9d2d3568856e51f145e2f533a1db7d6a7c048243aff20706d0"},
};

}  // namespace

TEST_CASE("SHA-256 gives the digests of FIPS 180-4 and of NIST's examples", "[tool][sha256][cpu]") {
    CHECK(digest_hex({}) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(digest_hex(text("abc")) ==
          "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(digest_hex(text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(digest_hex(text("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                          "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu")) ==
          "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    CHECK(digest_hex(Bytes(1000000, 'a')) ==
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("blocks of 4096 bytes have the same digests on CPUs and GPUs, in runs of any length",
          "[tool][sha256][cpu]") {
    constexpr std::size_t most = 5;
    const Bytes data = patterned(most * block);
    Bytes expected;
    for (std::size_t i = 0; i < most; ++i) {
        const Bytes digest = reference::sha256({data.data() + i * block, block});
        expected.insert(expected.end(), digest.begin(), digest.end());
    }
    for (const HashBlocks hash_blocks : ways) {
        for (std::size_t count = 0; count <= most; ++count) {
            INFO(count << " blocks");
            const Bytes input(data.begin(),
                              data.begin() + static_cast<std::ptrdiff_t>(count * block));
            Bytes digests((count + 1) * sha256_bytes, 0xee);
            hash_blocks(input.data(), count, digests.data());
            const auto end = digests.begin() + static_cast<std::ptrdiff_t>(count * sha256_bytes);
            REQUIRE(std::equal(digests.begin(), end, expected.begin()));
            REQUIRE(
                std::all_of(end, digests.end(), [](std::uint8_t byte) { return byte == 0xee; }));
        }
    }
}

TEST_CASE("groups of blocks have the digests of a run", "[tool][sha256][cpu]") {
    constexpr std::size_t count = 7;
    const Bytes data = patterned(count * block);
    Bytes expected(count * sha256_bytes);
    blocks_as_on_gpus(data.data(), count, expected.data());

    for (std::size_t group = 1; group <= count + 1; ++group) {
        Bytes digests(expected.size());
        for (std::size_t i = 0; i < count; ++i)
            sha256_block_group(i, group, data.data(), count, digests.data());
        CHECK(digests == expected);
    }
}

TEST_CASE("blocks need no alignment on a CPU", "[tool][sha256][cpu]") {
    const Bytes data = patterned(17 * block + 1);
    const Bytes expected = reference::sha256({data.data() + 1, block});
    for (const HashBlocks hash_blocks : ways) {
        Bytes digests(17 * sha256_bytes + 1);
        hash_blocks(data.data() + 1, 17, digests.data() + 1);
        CHECK(std::equal(expected.begin(), expected.end(), digests.begin() + 1));
    }
}

TEST_CASE("the tree has the levels and blocks that fs-verity gives it", "[tool][verity][cpu]") {
    const VerityTree tree{128 * 128 * block + 1};
    REQUIRE(tree.levels() == 3);
    CHECK(tree.blocks(0) == 128 * 128 + 1);
    CHECK(tree.blocks(1) == 129);
    CHECK(tree.blocks(2) == 2);
    CHECK(tree.blocks(3) == 1);
    CHECK(tree.digest_bytes(1) == (128 * 128 + 1) * 32);
    CHECK(tree.bytes(1) == 129 * block);
    CHECK(tree.tree_bytes() == (129 + 2 + 1) * block);

    const VerityTree largest{~std::uint64_t{0}};
    CHECK(largest.levels() == max_verity_levels);
    CHECK(largest.blocks(0) == std::uint64_t{1} << 52);
    CHECK(largest.blocks(largest.levels()) == 1);

    CHECK(VerityTree{0}.blocks(0) == 0);
    CHECK(VerityTree{0}.levels() == 0);
    CHECK(VerityTree{block}.tree_bytes() == 0);
}

TEST_CASE("files of every kind of size have the digests that fsverity prints",
          "[tool][verity][cpu]") {
    for (const Golden& file : golden) {
        const Bytes content = patterned(file.bytes);
        INFO(file.bytes << " bytes");
        CHECK(VerityTree{file.bytes}.levels() == file.levels);
        CHECK(to_hex(as_digest(reference::verity_digest_reference(content))) == file.digest);
        for (const HashBlocks hash_blocks : ways)
            CHECK(to_hex(digest_by_levels(hash_blocks, content)) == file.digest);
    }
}

TEST_CASE("files about 64 MiB, where the third level begins, have the digests that fsverity prints",
          "[tool][verity][cpu]") {
    for (const Golden& file : golden_large) {
        INFO(file.bytes << " bytes");
        CHECK(VerityTree{file.bytes}.levels() == file.levels);
        CHECK(to_hex(digest_by_levels(sha256_blocks, patterned(file.bytes))) == file.digest);
    }
}

TEST_CASE("the line is the one that fsverity prints, with the path as passed",
          "[tool][verity][cpu]") {
    Sha256Digest digest{};
    digest[0] = 0x0f;
    digest[31] = 0xa0;
    CHECK(verity_line(digest, "a b/ü") ==
          "sha256:0f000000000000000000000000000000000000000000000000000000000000a0 a b/ü");
}
