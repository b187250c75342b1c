// Overlap: one stream copies chunks of pinned memory to the device, while another stream computes
// on the previous chunk, and copies the result back. Events mark when a chunk has arrived, and when
// its buffer is free again. The host waits only once, at the end. Usage: example_02_overlap
// [DEVICE]
#include <heddle/heddle.hpp>

#include <cstdio>
#include <utility>
#include <vector>

#include "device_argument.hpp"

namespace hd = heddle;

struct Polynomial {
    HEDDLE_FN void operator()(std::size_t i, hd::View<float> x) const {
        x[i] = (x[i] + 2) * x[i] + 1;
    }
};

int main(int argc, char** argv) {
    constexpr std::size_t chunk = 1 << 18, chunks = 24, depth = 3;  // elements, chunks, and buffers
    const hd::Device device = device_argument(argc, argv);
    const hd::ScopedDevice on{device};

    hd::Array<float> input = hd::pinned<float>(chunk * chunks),
                     output = hd::pinned<float>(chunk * chunks);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 1000);

    const hd::Stream transfer{{.name = "transfer"}}, compute{{.name = "compute"}};
    struct Buffer {
        hd::Array<float> data;
        hd::Event is_free;  // before its first record, it counts as complete
    };
    std::vector<Buffer> ring;
    for (std::size_t i = 0; i < depth; ++i)
        ring.push_back({hd::empty<float>(transfer, chunk), hd::Event(device)});

    for (std::size_t c = 0; c < chunks; ++c) {
        Buffer& buffer = ring[c % depth];
        transfer.wait_event(buffer.is_free);
        hd::copy(transfer, buffer.data, input.view().subview(c * chunk, chunk));
        const hd::Event arrived = transfer.record_event();

        compute.wait_event(arrived);
        hd::launch(compute, Polynomial{}, hd::dim(chunk), buffer.data);
        hd::copy(compute, output.view().subview(c * chunk, chunk), buffer.data);
        compute.record_event(buffer.is_free);
    }
    compute.synchronize();

    const hd::View<const float> result =
        hd::on_host(std::as_const(output));  // reported to the checker
    for (std::size_t i = 0; i < result.size(); ++i)
        if (result[i] != (input[i] + 2) * input[i] + 1) {
            std::printf("element %zu is %g\n", i, static_cast<double>(result[i]));
            return 1;
        }
    std::printf("%s: %zu chunks of %zu elements\n", device.name().c_str(), chunks, chunk);
    return 0;
}
