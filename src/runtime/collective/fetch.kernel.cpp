#include "collective/fetch.kernel.hpp"

#include <cstdint>

#include "collective/pack.hpp"
#include <heddle/launch/launch.hpp>

namespace heddle::detail {

namespace {

using Bytes = unsigned char;
using BytePack = Pack<Bytes>;

/// Each index copies `width` bytes of one part. On a GPU, `width` is the size of one pack, so that
/// neighbouring threads copy neighbouring packs. On a CPU, it is the size of many packs.
struct Fetch {
    std::uint64_t width;
    /// The index at which each part ends. Unused parts end where the last used part ends.
    std::uint64_t end[fetch_width];

    HEDDLE_FN void operator()(std::size_t i, View<Bytes> a, View<const Bytes> from_a, View<Bytes> b,
                              View<const Bytes> from_b, View<Bytes> c, View<const Bytes> from_c,
                              View<Bytes> d, View<const Bytes> from_d, View<Bytes> e,
                              View<const Bytes> from_e, View<Bytes> f, View<const Bytes> from_f,
                              View<Bytes> g, View<const Bytes> from_g, View<Bytes> h,
                              View<const Bytes> from_h) const {
        if (i < end[0]) return copy(i, a, from_a);
        if (i < end[1]) return copy(i - end[0], b, from_b);
        if (i < end[2]) return copy(i - end[1], c, from_c);
        if (i < end[3]) return copy(i - end[2], d, from_d);
        if (i < end[4]) return copy(i - end[3], e, from_e);
        if (i < end[5]) return copy(i - end[4], f, from_f);
        if (i < end[6]) return copy(i - end[5], g, from_g);
        copy(i - end[6], h, from_h);
    }

    HEDDLE_FN void copy(std::size_t i, View<Bytes> to, View<const Bytes> from) const {
        const std::size_t first = i * width;
        const std::size_t last = to.size() - first < width ? to.size() : first + width;
        std::size_t at = first;
        for (; at + sizeof(BytePack) <= last; at += sizeof(BytePack))
            *reinterpret_cast<BytePack*>(to.data() + at) =
                *reinterpret_cast<const BytePack*>(from.data() + at);
        for (; at < last; ++at) to[at] = from[at];
    }
};

}  // namespace

bool can_fetch(const Fetched* parts, std::size_t count) noexcept {
    std::uintptr_t bits = 0;
    for (std::size_t k = 0; k < count; ++k)
        bits |= reinterpret_cast<std::uintptr_t>(parts[k].to.data) |
                reinterpret_cast<std::uintptr_t>(parts[k].from.data);
    return bits % sizeof(BytePack) == 0;
}

void launch_fetch(StreamRef stream, const Fetched* parts, std::size_t count, std::size_t element,
                  const SourceLocation& where) {
    Fetch kernel{stream.device().is_cuda() ? sizeof(BytePack) : 4096, {}};
    std::uint64_t all = 0;
    for (std::size_t k = 0; k < fetch_width; ++k) {
        if (k < count) all += (parts[k].to.size * element + kernel.width - 1) / kernel.width;
        kernel.end[k] = all;
    }
    const auto bytes_of = [&](const Part& part) {
        return Access::view(static_cast<Bytes*>(part.data), part.size * element, part.owner);
    };
    const auto to = [&](std::size_t k) {
        return k < count ? bytes_of(parts[k].to) : View<Bytes>();
    };
    const auto from = [&](std::size_t k) -> View<const Bytes> {
        return k < count ? bytes_of(parts[k].from) : View<Bytes>();
    };
    launch(stream, kernel, dim(all, where), to(0), from(0), to(1), from(1), to(2), from(2), to(3),
           from(3), to(4), from(4), to(5), from(5), to(6), from(6), to(7), from(7));
}

}  // namespace heddle::detail
