// bench_graphs: small kernels in batches.
#pragma once

#include <string>
#include <vector>

#include <heddle/heddle.hpp>

#include "graphs/parts.hpp"
#include "report.hpp"

namespace bench {

/// The kernel for batches. Its arguments are two arrays and two numbers.
struct Small {
    HEDDLE_FN void operator()(std::size_t i, heddle::View<const float> x, heddle::View<float> y,
                              float a, int b) const {
        y[i] = a * x[i] + static_cast<float>(b);
    }
};

/// Small kernels, in a batch and launched one by one, on the current stream.
class SmallBatch {
public:
    /// If `changed` is true, the kernels' last argument differs in each round. If `to_the_end` is
    /// true, a round also waits for the kernels.
    SmallBatch(heddle::StreamRef stream, int kernels, bool changed, bool to_the_end)
        : stream_(stream), kernels_(kernels), changed_(changed), to_the_end_(to_the_end) {}

    std::string name() const {
        return "a kernel of " + std::to_string(kernels_) + " in a batch, " +
               (changed_ ? "arguments new each time" : "unchanged") +
               (to_the_end_ ? ", run to the end" : ", host time");
    }
    Side in_batch() {
        return side([this] { step_.run([this] { launch_each(); }); });
    }
    /// Returns the peers: on CUDA devices, launches and a graph, both by hand; on CPU devices,
    /// launches by heddle.
    std::vector<Peer> peers() {
        const heddle::Device device = stream_.device();
        if (!device.is_cuda())
            return {{"heddle, launched one by one", side([this] { launch_each(); })}};
        return {raw_small_kernels(device, kernels_, to_the_end_),
                raw_small_graph(device, kernels_, changed_, to_the_end_)};
    }

private:
    static constexpr std::size_t n = 256;

    void launch_each() {
        const int first = changed_ ? ++round_ * kernels_ : 0;
        for (int i = 0; i < kernels_; ++i)
            heddle::launch(Small{}, heddle::dim(n), x_, y_, 2.0f, first + i);
    }
    template <class F> Side side(F round) {
        return {repeat([this, round] {
                    round();
                    if (to_the_end_) stream_.synchronize();
                }),
                [this] { stream_.synchronize(); }};
    }

    heddle::StreamRef stream_;
    int kernels_;
    bool changed_, to_the_end_;
    int round_ = 0;
    heddle::Array<float> x_ = heddle::zeros<float>(n), y_ = heddle::zeros<float>(n);
    heddle::Batch step_{{.on_cpu = true}};
};

/// Compares small kernels in a batch with the same kernels launched one by one, by hand on CUDA and
/// by heddle on CPU devices. On CUDA, also compares them with a graph of the same kernels by hand.
/// If the arguments are new each time, that graph is changed node by node.
inline void add_batches(Report& report, heddle::Device device) {
    const heddle::Stream s{device};
    const heddle::ScopedStream in{s};
    for (const int kernels : {10, 100, 1000}) {
        const Batches rounds{.calls = kernels == 10    ? 20
                                      : kernels == 100 ? 4
                                                       : 1,
                             .pairs = 200,
                             .seconds = 1.0};
        for (const bool to_the_end : {false, true})
            for (const bool changed : {false, true}) {
                SmallBatch batch(s, kernels, changed, to_the_end);
                if (!report.wants(batch.name())) continue;
                for (const Peer& peer : batch.peers())
                    report.compare(batch.name(), device.name(), batch.in_batch(), peer, rounds,
                                   {"ns", 1e9 / kernels, 0});
            }
    }
}

}  // namespace bench
