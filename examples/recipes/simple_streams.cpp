// simpleStreams: an array is divided into parts. Each part is computed and copied to the host on
// its own stream, so its copy overlaps other parts' kernels. Usage: example_recipe_simple_streams
// [DEVICE]
#include <heddle/heddle.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "../device_argument.hpp"

namespace hd = heddle;

struct Iterate {  // works on each element for so long that a kernel takes as long as a copy
    HEDDLE_FN void operator()(std::size_t i, std::size_t start, int rounds,
                              hd::View<unsigned> x) const {
        auto value = static_cast<unsigned>(start + i);
        for (int r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u;
        x[i] = value;
    }
};

int main(int argc, char** argv) {
    constexpr std::size_t n = 1 << 20;
    constexpr int rounds = 20;
    const hd::ScopedDevice on{device_argument(argc, argv)};
    hd::Array<unsigned> x = hd::empty<unsigned>(n);
    hd::Array<unsigned> host =
        hd::pinned<unsigned>(n);  // a copy to pageable memory would block the host

    bool is_right = true;
    for (const std::size_t streams : {std::size_t{1}, std::size_t{4}}) {
        std::fill(host.begin(), host.end(), 0u);
        const hd::Event start = hd::record_event({.timing = true});
        const std::size_t size = n / streams;
        hd::fork_join_n(streams, [&](std::size_t p, hd::StreamRef branch) {
            const hd::View<unsigned> part = x.view().subview(p * size, size);
            hd::launch(branch, Iterate{}, hd::dim(size), p * size, rounds, part);
            hd::copy(branch, host.view().subview(p * size, size), part);
        });
        const hd::Event end =
            hd::record_event({.timing = true});  // after all branches, which are joined
        std::printf("%s: %zu stream(s) %8.3f ms\n", hd::current_device().name().c_str(), streams,
                    hd::elapsed(start, end).count());  // the host waits for both events

        const hd::View<const unsigned> got = hd::on_host(std::as_const(host));
        for (std::size_t i = 0; i < n; ++i) {
            auto value = static_cast<unsigned>(i);
            for (int r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u;
            is_right = is_right && got[i] == value;
        }
    }
    return is_right ? 0 : 1;
}
