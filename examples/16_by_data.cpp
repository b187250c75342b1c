// The same program in three forms: on one stream, by hand with streams and events, and ordered by
// data. The program cleans frames, computes their edges and tones concurrently, and combines them.
// Ordered by data, it reads like the first form and overlaps like the second. If FOLDER is passed,
// writes timelines of the last two forms. Usage: example_16_by_data [DEVICE [FOLDER]]
#include <heddle/by_data.hpp>
#include <heddle/heddle.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ratio>
#include <string>
#include <vector>

#include "device_argument.hpp"

namespace hd = heddle;

namespace {

constexpr std::size_t size = 4096, frames = 40, buffers = 2;

struct Clean {
    HEDDLE_FN void operator()(std::size_t i, hd::View<const float> raw,
                              hd::View<float> clean) const {
        const std::size_t before = i == 0 ? i : i - 1, after = i + 1 == raw.size() ? i : i + 1;
        clean[i] = (raw[before] + 2 * raw[i] + raw[after]) / 4;
    }
};
struct Edges {
    HEDDLE_FN void operator()(std::size_t i, hd::View<const float> clean,
                              hd::View<float> edges) const {
        float sum = 0;
        for (std::size_t k = 1; k <= 64; ++k)
            sum += clean[(i + k) % clean.size()] - clean[i] / static_cast<float>(k);
        edges[i] = sum;
    }
};
struct Tones {
    HEDDLE_FN void operator()(std::size_t i, hd::View<const float> clean,
                              hd::View<float> tones) const {
        float tone = clean[i];
        for (int k = 0; k < 64; ++k) tone = 0.5f * tone + 1 / (1 + tone * tone);
        tones[i] = tone;
    }
};
struct Mix {
    HEDDLE_FN void operator()(std::size_t i, hd::View<const float> edges,
                              hd::View<const float> tones, hd::View<float> mixed) const {
        mixed[i] = edges[i] * tones[i];
    }
};

struct Frame {
    hd::Array<float> raw = hd::empty<float>(size), clean = hd::empty<float>(size),
                     edges = hd::empty<float>(size), tones = hd::empty<float>(size),
                     mixed = hd::empty<float>(size);
};

struct Work {
    hd::Array<float> input = hd::pinned<float>(frames * size),
                     output = hd::pinned<float>(frames * size);
    std::vector<Frame> ring{buffers};

    hd::View<const float> in(std::size_t frame) const {
        return input.view().subview(frame * size, size);
    }
    hd::View<float> out(std::size_t frame) { return output.view().subview(frame * size, size); }
};

/// Makes all calls one after the other, on a stream or on a DataOrder.
template <class On> void as_one(On& on, Work& work) {
    for (std::size_t i = 0; i < frames; ++i) {
        Frame& f = work.ring[i % buffers];
        hd::copy(on, f.raw, work.in(i));
        hd::launch(on, Clean{}, hd::dim(size), f.raw, f.clean);
        hd::launch(on, Edges{}, hd::dim(size), f.clean, f.edges);
        hd::launch(on, Tones{}, hd::dim(size), f.clean, f.tones);
        hd::launch(on, Mix{}, hd::dim(size), f.edges, f.tones, f.mixed);
        hd::copy(on, work.out(i), f.mixed);
    }
}

void by_hand(hd::Device device, Work& work) {
    const hd::StreamRef a = hd::current_stream(device);
    const hd::Stream b{device, {.name = "tones"}};
    for (std::size_t i = 0; i < frames; ++i) {
        Frame& f = work.ring[i % buffers];
        hd::copy(a, f.raw, work.in(i));
        hd::launch(a, Clean{}, hd::dim(size), f.raw, f.clean);
        b.wait_event(a.record_event());  // needed because b reads the clean frame
        hd::launch(a, Edges{}, hd::dim(size), f.clean, f.edges);
        hd::launch(b, Tones{}, hd::dim(size), f.clean, f.tones);
        a.wait_event(b.record_event());  // orders Mix, and the next Clean, after Tones
        hd::launch(a, Mix{}, hd::dim(size), f.edges, f.tones, f.mixed);
        hd::copy(a, work.out(i), f.mixed);
    }
}

hd::DataOrderStats by_data(hd::Device device, Work& work) {
    hd::DataOrder order{device};
    as_one(order, work);
    return order.stats();  // afterwards, the current stream follows all of the work
}

/// Runs `f` once to warm up, and once to measure. If a timeline was requested, runs `f` once more.
template <class F>
double milliseconds_of(hd::Device device, const std::string& folder, const char* name, F&& run) {
    run();
    hd::synchronize_device(device);
    const auto begin = std::chrono::steady_clock::now();
    run();
    hd::synchronize_device(device);
    const auto end = std::chrono::steady_clock::now();
    if (!folder.empty()) {
        hd::timeline::Recording recording;
        run();
        hd::synchronize_device(device);
        recording.write(folder + "/" + name + ".svg");
    }
    return std::chrono::duration<double, std::milli>(end - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
    const hd::Device device = device_argument(argc, argv, "[DEVICE [FOLDER]]");
    const std::string folder = argc > 2 ? argv[2] : "";
    const hd::ScopedDevice on{device};
    Work work;
    for (std::size_t i = 0; i < work.input.size(); ++i)
        work.input[i] = std::sin(0.01f * static_cast<float>(i));

    const double one_ms = milliseconds_of(device, {}, "", [&] {
        const hd::StreamRef stream = hd::current_stream(device);
        as_one(stream, work);
    });
    const std::vector<float> expected(work.output.begin(), work.output.end());
    const double hand_ms =
        milliseconds_of(device, folder, "by_hand", [&] { by_hand(device, work); });
    bool right = std::vector<float>(work.output.begin(), work.output.end()) == expected;
    hd::DataOrderStats stats;
    const double data_ms =
        milliseconds_of(device, folder, "by_data", [&] { stats = by_data(device, work); });
    right = right && std::vector<float>(work.output.begin(), work.output.end()) == expected;

    std::printf("%s: one stream %.2f ms, by hand %.2f ms, by data %.2f ms: %llu operations, %llu "
                "waits inserted, %llu elided; %s\n",
                device.name().c_str(), one_ms, hand_ms, data_ms,
                static_cast<unsigned long long>(stats.operations),
                static_cast<unsigned long long>(stats.waits_inserted),
                static_cast<unsigned long long>(stats.waits_elided),
                right ? "all the same" : "the results differ");
    return right ? 0 : 1;
}
