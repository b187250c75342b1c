// A pipeline: pieces of a stream of numbers are read, copied to the device, processed, copied back
// and written, all at the same time. overlap() contains the loop. Code that has its own loop should
// use Pipeline. Usage: example_11_pipeline [DEVICE]
#include <heddle/heddle.hpp>

#include <algorithm>
#include <cstdio>

#include "device_argument.hpp"

namespace hd = heddle;

struct Halve {
    HEDDLE_FN void operator()(std::size_t i, hd::View<const int> x, hd::View<float> y) const {
        y[i] = 0.5f * static_cast<float>(x[i]);
    }
};

int main(int argc, char** argv) {
    constexpr int total = 10'000'000;
    const hd::Device device = device_argument(argc, argv);
    const auto work = [](hd::StreamRef stream, hd::View<const int> in, hd::View<float> out) {
        hd::launch(stream, Halve{}, hd::dim(in.size()), in,
                   out);  // returns no count, because there are as many outputs as inputs
    };

    int next = 0, written = 0, wrong = 0;
    const auto read = [&](std::span<int> piece) {
        const std::size_t count = std::min(piece.size(), static_cast<std::size_t>(total - next));
        for (std::size_t i = 0; i < count; ++i) piece[i] = next++;
        return count;  // 0 at the end of the input
    };
    const auto write = [&](std::span<const float> piece) {
        for (const float y : piece) wrong += y != 0.5f * static_cast<float>(written++);
    };
    hd::overlap<int, float>(device, read, work, write);

    std::uint64_t pieces = 0;
    next = written = 0;
    hd::Pipeline<int, float> pipeline(
        device, work,
        {.depth = 4,
         .piece = 1 << 16,
         .copy_priority = -1,
         .progress = [&](std::uint64_t done, std::uint64_t) { pieces = done; }});
    while (next < total) {
        if (pipeline.is_full()) write(*pipeline.pop());
        pipeline.submit(read(pipeline.acquire()));
    }
    pipeline.finish();
    while (const auto result = pipeline.pop()) write(*result);

    std::printf("%s: %d numbers, the second time in %d pieces; %d are wrong\n",
                device.name().c_str(), written, static_cast<int>(pieces), wrong);
    return wrong == 0 && written == total ? 0 : 1;
}
