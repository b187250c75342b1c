// SHA-256 on a CPU. Chooses between SHA instructions, wide registers and plain arithmetic. This
// file implements only the SHA instructions.

#include "sha256.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "sha256_wide.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#define HEDDLE_SHA_TARGET [[gnu::target("sha,sse4.1,ssse3")]]
#endif

namespace heddle::tool {
namespace {

#if defined(__x86_64__)

bool has_instructions() {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
    const bool shuffles = (c & bit_SSSE3) != 0 && (c & bit_SSE4_1) != 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
    return shuffles && (b & (1U << 29)) != 0;
}

/// The state of one message, in the order that the instructions need: one register with variables
/// a, b, e, f, the other with c, d, g, h. The first variable of each is in the highest word.
struct Lane {
    __m128i abef;
    __m128i cdgh;
};

HEDDLE_SHA_TARGET inline __m128i load(const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

HEDDLE_SHA_TARGET inline __m128i swap_words(__m128i bytes) {
    return _mm_shuffle_epi8(bytes, _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
}

HEDDLE_SHA_TARGET inline Lane lane_from(const std::uint32_t* state) {
    const __m128i badc = _mm_shuffle_epi32(load(state), 0xb1);
    const __m128i hgfe = _mm_shuffle_epi32(load(state + 4), 0x1b);
    return {_mm_alignr_epi8(badc, hgfe, 8), _mm_blend_epi16(hgfe, badc, 0xf0)};
}

HEDDLE_SHA_TARGET inline void lane_to(const Lane& lane, std::uint32_t* state) {
    const __m128i feba = _mm_shuffle_epi32(lane.abef, 0x1b);
    const __m128i dchg = _mm_shuffle_epi32(lane.cdgh, 0xb1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

/// Computes four rounds of every lane. The lanes' instructions are interleaved, so that one lane
/// uses the time in which another waits for a result.
template <std::size_t lanes, std::size_t quad>
HEDDLE_SHA_TARGET [[gnu::always_inline]] inline void four_rounds(Lane (&state)[lanes],
                                                                 __m128i (&w)[lanes][4]) {
    const __m128i k = load(detail::sha256_k + 4 * quad);
    __m128i sum[lanes];
    for (std::size_t i = 0; i < lanes; ++i) {
        sum[i] = _mm_add_epi32(w[i][quad % 4], k);
        state[i].cdgh = _mm_sha256rnds2_epu32(state[i].cdgh, state[i].abef, sum[i]);
    }
    for (std::size_t i = 0; i < lanes; ++i) {
        sum[i] = _mm_shuffle_epi32(sum[i], 0x0e);
        state[i].abef = _mm_sha256rnds2_epu32(state[i].abef, state[i].cdgh, sum[i]);
    }
    // Computes the words of the quad four quads later, in place of the words just used.
    if constexpr (quad < 12) {
        for (std::size_t i = 0; i < lanes; ++i) {
            const __m128i latest = w[i][(quad + 3) % 4];
            const __m128i middle = _mm_alignr_epi8(latest, w[i][(quad + 2) % 4], 4);
            const __m128i partial = _mm_sha256msg1_epu32(w[i][quad % 4], w[i][(quad + 1) % 4]);
            w[i][quad % 4] = _mm_sha256msg2_epu32(_mm_add_epi32(partial, middle), latest);
        }
    }
}

template <std::size_t lanes, std::size_t... quad>
HEDDLE_SHA_TARGET [[gnu::always_inline]] inline void all_rounds(Lane (&state)[lanes],
                                                                __m128i (&w)[lanes][4],
                                                                std::index_sequence<quad...>) {
    (four_rounds<lanes, quad>(state, w), ...);
}

/// Adds `steps` times 64 bytes of each lane's message to the lane's state. Also prefetches as many
/// bytes at `upcoming`, because the hardware prefetcher stops at the end of a page, which is the
/// end of a block.
template <std::size_t lanes>
HEDDLE_SHA_TARGET [[gnu::always_inline]] inline void absorb(
    Lane (&lane)[lanes], const std::uint8_t* const (&data)[lanes],
    const std::uint8_t* const (&upcoming)[lanes], std::size_t steps) {
    for (std::size_t step = 0; step < steps; ++step) {
        Lane before[lanes];
        __m128i w[lanes][4];
        for (std::size_t i = 0; i < lanes; ++i) {
            before[i] = lane[i];
            for (std::size_t j = 0; j < 4; ++j)
                w[i][j] = swap_words(load(data[i] + 64 * step + 16 * j));
            __builtin_prefetch(upcoming[i] + 64 * step);
        }
        all_rounds(lane, w, std::make_index_sequence<16>{});
        for (std::size_t i = 0; i < lanes; ++i) {
            lane[i].abef = _mm_add_epi32(lane[i].abef, before[i].abef);
            lane[i].cdgh = _mm_add_epi32(lane[i].cdgh, before[i].cdgh);
        }
    }
}

/// The last 64 bytes of a padded 4096-byte message: a one bit, zeros, and the length, 32768 bits.
constexpr std::array<std::uint8_t, 64> block_padding = [] {
    std::array<std::uint8_t, 64> bytes{};
    bytes[0] = 0x80;
    bytes[62] = 8 * sha256_block_bytes / 256;
    return bytes;
}();

/// Hashes `lanes` blocks of 4096 bytes, and prefetches the blocks `upcoming`.
template <std::size_t lanes>
HEDDLE_SHA_TARGET void blocks_by_instructions(const std::uint8_t* const (&data)[lanes],
                                              const std::uint8_t* const (&upcoming)[lanes],
                                              std::uint8_t* const (&digests)[lanes]) {
    Lane state[lanes];
    const std::uint8_t* padding[lanes];
    for (std::size_t i = 0; i < lanes; ++i) {
        state[i] = lane_from(detail::sha256_initial);
        padding[i] = block_padding.data();
    }
    absorb<lanes>(state, data, upcoming, sha256_block_bytes / 64);
    absorb<lanes>(state, padding, padding, 1);
    for (std::size_t i = 0; i < lanes; ++i) {
        std::uint32_t words[8];
        lane_to(state[i], words);
        detail::store_digest(words, digests[i]);
    }
}

HEDDLE_SHA_TARGET void message_by_instructions(const std::uint8_t* data, std::size_t size,
                                               std::uint8_t* digest) {
    const std::size_t whole = size / 64;
    std::uint8_t tail[128] = {};  // the last bytes and the padding, for one or two steps
    if (size % 64 != 0) std::memcpy(tail, data + 64 * whole, size % 64);
    tail[size % 64] = 0x80;
    const std::size_t tail_steps = size % 64 < 56 ? 1 : 2;
    for (std::size_t i = 0; i < 8; ++i)
        tail[64 * tail_steps - 1 - i] =
            static_cast<std::uint8_t>((std::uint64_t{size} * 8) >> (8 * i));
    Lane lane[1] = {lane_from(detail::sha256_initial)};
    const std::uint8_t* messages[1] = {data};
    const std::uint8_t* tails[1] = {tail};
    absorb<1>(lane, messages, messages, whole);
    absorb<1>(lane, tails, tails, tail_steps);
    std::uint32_t words[8];
    lane_to(lane[0], words);
    detail::store_digest(words, digest);
}

#else  // SHA instructions of other processors are not used yet

bool has_instructions() { return false; }

template <std::size_t lanes>
void blocks_by_instructions(const std::uint8_t* const (&data)[lanes],
                            const std::uint8_t* const (&)[lanes],
                            std::uint8_t* const (&digests)[lanes]) {
    for (std::size_t i = 0; i < lanes; ++i) detail::sha256_block_portable(data[i], digests[i]);
}

void message_by_instructions(const std::uint8_t* data, std::size_t size, std::uint8_t* digest) {
    detail::sha256_portable(data, size, digest);
}

#endif

}  // namespace

bool sha256_has_path(Sha256Path path) {
    switch (path) {
    case Sha256Path::portable: return true;
    case Sha256Path::lanes8: return detail::sha256_has_lanes8();
    case Sha256Path::lanes16: return detail::sha256_has_lanes16();
    case Sha256Path::instructions: return has_instructions();
    }
    return false;
}

Sha256Path sha256_best_path() {
    static const Sha256Path best =
        *std::find_if(std::rbegin(sha256_paths), std::rend(sha256_paths), sha256_has_path);
    return best;
}

void sha256_2x4096(const std::uint8_t* first, const std::uint8_t* second,
                   std::uint8_t* first_digest, std::uint8_t* second_digest) {
    if (sha256_best_path() == Sha256Path::instructions) {
        blocks_by_instructions<2>({first, second}, {first, second}, {first_digest, second_digest});
    } else {
        detail::sha256_block_portable(first, first_digest);
        detail::sha256_block_portable(second, second_digest);
    }
}

void sha256_blocks_by(Sha256Path path, const std::uint8_t* data, std::size_t count,
                      std::uint8_t* digests) {
    const auto block = [data](std::size_t i) { return data + i * sha256_block_bytes; };
    const auto digest = [digests](std::size_t i) { return digests + i * sha256_bytes; };
    std::size_t i = 0;
    if (path == Sha256Path::instructions) {
        for (; i + 2 <= count; i += 2) {
            const std::size_t next = i + 4 <= count ? i + 2 : i;
            blocks_by_instructions<2>({block(i), block(i + 1)}, {block(next), block(next + 1)},
                                      {digest(i), digest(i + 1)});
        }
        if (i < count) blocks_by_instructions<1>({block(i)}, {block(i)}, {digest(i)});
        return;
    }
    if (path != Sha256Path::portable) {
        const bool wide = path == Sha256Path::lanes16;
        // A single block that is left at the end is hashed faster by the code below.
        i = count % (wide ? 16 : 8) == 1 ? count - 1 : count;
        (wide ? detail::sha256_lanes16 : detail::sha256_lanes8)(data, i, digests);
    }
    for (; i < count; ++i) detail::sha256_block_portable(block(i), digest(i));
}

void sha256_by(Sha256Path path, const std::uint8_t* data, std::size_t size, std::uint8_t* digest) {
    if (path == Sha256Path::instructions) {
        message_by_instructions(data, size, digest);
    } else {
        detail::sha256_portable(data, size, digest);
    }
}

}  // namespace heddle::tool
