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

using namespace heddle;

namespace {

constexpr std::size_t size = 4096, frames = 40, buffers = 2;

struct Clean {
    HEDDLE_FN void operator()(std::size_t i, View<const float> raw, View<float> clean) const {
        const std::size_t before = i == 0 ? i : i - 1, after = i + 1 == raw.size() ? i : i + 1;
        clean[i] = (raw[before] + 2 * raw[i] + raw[after]) / 4;
    }
};
struct Edges {
    HEDDLE_FN void operator()(std::size_t i, View<const float> clean, View<float> edges) const {
        float sum = 0;
        for (std::size_t k = 1; k <= 64; ++k)
            sum += clean[(i + k) % clean.size()] - clean[i] / static_cast<float>(k);
        edges[i] = sum;
    }
};
struct Tones {
    HEDDLE_FN void operator()(std::size_t i, View<const float> clean, View<float> tones) const {
        float tone = clean[i];
        for (int k = 0; k < 64; ++k) tone = 0.5f * tone + 1 / (1 + tone * tone);
        tones[i] = tone;
    }
};
struct Mix {
    HEDDLE_FN void operator()(std::size_t i, View<const float> edges, View<const float> tones,
                              View<float> mixed) const {
        mixed[i] = edges[i] * tones[i];
    }
};

struct Frame {
    Array<float> raw = empty<float>(size), clean = empty<float>(size), edges = empty<float>(size),
                 tones = empty<float>(size), mixed = empty<float>(size);
};

struct Work {
    Array<float> input = pinned<float>(frames * size), output = pinned<float>(frames * size);
    std::vector<Frame> ring{buffers};

    View<const float> in(std::size_t frame) const {
        return input.view().subview(frame * size, size);
    }
    View<float> out(std::size_t frame) { return output.view().subview(frame * size, size); }
};

/// Makes all calls one after the other, on a stream or on a DataOrder.
template <class On> void as_one(On& on, Work& work) {
    for (std::size_t i = 0; i < frames; ++i) {
        Frame& f = work.ring[i % buffers];
        copy(on, f.raw, work.in(i));
        launch(on, Clean{}, dim(size), f.raw, f.clean);
        launch(on, Edges{}, dim(size), f.clean, f.edges);
        launch(on, Tones{}, dim(size), f.clean, f.tones);
        launch(on, Mix{}, dim(size), f.edges, f.tones, f.mixed);
        copy(on, work.out(i), f.mixed);
    }
}

void by_hand(Device device, Work& work) {
    const StreamRef a = current_stream(device);
    const Stream b{device, {.name = "tones"}};
    for (std::size_t i = 0; i < frames; ++i) {
        Frame& f = work.ring[i % buffers];
        copy(a, f.raw, work.in(i));
        launch(a, Clean{}, dim(size), f.raw, f.clean);
        b.wait_event(a.record_event());  // needed because b reads the clean frame
        launch(a, Edges{}, dim(size), f.clean, f.edges);
        launch(b, Tones{}, dim(size), f.clean, f.tones);
        a.wait_event(b.record_event());  // orders Mix, and the next Clean, after Tones
        launch(a, Mix{}, dim(size), f.edges, f.tones, f.mixed);
        copy(a, work.out(i), f.mixed);
    }
}

DataOrderStats by_data(Device device, Work& work) {
    DataOrder order{device};
    as_one(order, work);
    return order.stats();  // afterwards, the current stream follows all of the work
}

/// Runs `f` once to warm up, and once to measure. If a timeline was requested, runs `f` once more.
template <class F>
double milliseconds_of(Device device, const std::string& folder, const char* name, F&& run) {
    run();
    synchronize_device(device);
    const auto begin = std::chrono::steady_clock::now();
    run();
    synchronize_device(device);
    const auto end = std::chrono::steady_clock::now();
    if (!folder.empty()) {
        timeline::Recording recording;
        run();
        synchronize_device(device);
        recording.write(folder + "/" + name + ".svg");
    }
    return std::chrono::duration<double, std::milli>(end - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
    const Device device = device_argument(argc, argv, "[DEVICE [FOLDER]]");
    const std::string folder = argc > 2 ? argv[2] : "";
    const ScopedDevice on{device};
    Work work;
    for (std::size_t i = 0; i < work.input.size(); ++i)
        work.input[i] = std::sin(0.01f * static_cast<float>(i));

    const double one_ms = milliseconds_of(device, {}, "", [&] {
        const StreamRef stream = current_stream(device);
        as_one(stream, work);
    });
    const std::vector<float> expected(work.output.begin(), work.output.end());
    const double hand_ms =
        milliseconds_of(device, folder, "by_hand", [&] { by_hand(device, work); });
    bool right = std::vector<float>(work.output.begin(), work.output.end()) == expected;
    DataOrderStats stats;
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
