// simpleMultiCopy: copies to the device, kernels, and copies to the host run at the same time, on
// different pieces of the data. overlap() manages buffers, streams and events. Usage:
// example_recipe_simple_multi_copy [DEVICE]
#include <heddle/heddle.hpp>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include "../device_argument.hpp"

namespace hd = heddle;

struct Increment {
    HEDDLE_FN void operator()(std::size_t i, hd::View<const int> in, hd::View<int> out) const {
        out[i] = in[i] + 1;
    }
};

int main(int argc, char** argv) {
    const hd::Device device = device_argument(argc, argv);
    std::vector<int> input(1'000'000), output;
    std::iota(input.begin(), input.end(), 0);
    output.reserve(input.size());

    std::size_t at = 0;
    std::uint64_t pieces = 0;
    const auto read = [&](std::span<int> piece) {  // fills pinned memory; returns 0 at the end
        const std::size_t count = std::min(piece.size(), input.size() - at);
        std::copy_n(input.begin() + static_cast<std::ptrdiff_t>(at), count, piece.begin());
        at += count;
        return count;
    };
    const auto work = [](hd::StreamRef stream, hd::View<const int> in, hd::View<int> out) {
        hd::launch(stream, Increment{}, hd::dim(in.size()), in, out);
    };
    const auto write = [&](std::span<const int> piece) {  // receives the results in order
        output.insert(output.end(), piece.begin(), piece.end());
    };
    hd::overlap<int, int>(device, read, work, write,
                          {.depth = 4,
                           .piece = 1 << 16,
                           .progress = [&](std::uint64_t done, std::uint64_t) { pieces = done; }});

    bool is_right = output.size() == input.size();
    for (std::size_t i = 0; is_right && i < output.size(); ++i)
        is_right = output[i] == input[i] + 1;
    std::printf("%s: %zu elements in %llu pieces, %s\n", device.name().c_str(), output.size(),
                static_cast<unsigned long long>(pieces), is_right ? "right" : "wrong");
    return is_right ? 0 : 1;
}
