// bench_overlap: the stages (copy in, work, copy out) each alone, both copies at once, all stages
// one after the other, and as a pipeline. The work is a kernel with a single index that takes a
// known time, so the copies can use the memory and, on CPU devices, all other workers.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <heddle/heddle.hpp>

#include "overlap/parts.hpp"
#include "spin.hpp"

namespace bench {

inline void work_on_piece(heddle::StreamRef stream, const StageSizes& sizes) {
    const std::uint64_t ns = sizes.work_ns;
    if (ns == 0) return;
    if (sizes.rests)
        heddle::launch_host(stream,
                            [ns] { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); });
    else heddle::launch(stream, Spin{}, heddle::dim(1), ns);
}

/// A pipeline. One call is one piece. The pipeline is empty before and after a batch, so figures of
/// short batches include the time to fill and to drain it.
class Overlapped {
public:
    Overlapped(heddle::Device device, StageSizes sizes)
        : pipeline_(device,
                    [sizes](heddle::StreamRef stream, heddle::View<const std::byte>,
                            heddle::View<std::byte>) { work_on_piece(stream, sizes); },
                    {.depth = sizes.depth, .piece = sizes.bytes, .in_place = false}) {}

    Side side() {
        return {[this](int calls) {
            for (int i = 0; i < calls; ++i) {
                if (pipeline_.is_full()) keep(*pipeline_.pop());
                pipeline_.submit(pipeline_.acquire().size());
            }
            while (pipeline_.pop()) {}
        }};
    }
    /// Like side(), but submits pieces directly from `source`, which holds one piece for each slot.
    Side side_from(heddle::View<const std::byte> source) {
        return {[this, source](int calls) {
            const std::size_t bytes = pipeline_.piece();
            for (std::size_t i = 0; i < static_cast<std::size_t>(calls); ++i) {
                if (pipeline_.is_full()) keep(*pipeline_.pop());
                pipeline_.submit(source.subview(i % pipeline_.depth() * bytes, bytes));
            }
            while (pipeline_.pop()) {}
        }};
    }

private:
    heddle::Pipeline<std::byte, std::byte> pipeline_;
};

/// Runs the stages alone, with as many buffers as a pipeline has. One call is one piece. "Both
/// copies" counts as a stage, because a pipeline cannot be faster than copies in both directions at
/// once: the link or the memory may then transfer less than twice its rate in one direction.
class Stages {
public:
    Stages(heddle::Device device, StageSizes sizes)
        : sizes_(sizes), stream_(device), other_(device),
          host_in_(heddle::pinned<std::byte>(sizes.bytes * sizes.depth)),
          host_out_(heddle::pinned<std::byte>(host_in_.size())),
          in_(heddle::zeros<std::byte>(stream_, host_in_.size())),
          out_(heddle::zeros<std::byte>(stream_, host_in_.size())) {
        std::fill(host_in_.begin(), host_in_.end(), std::byte{1});
        std::fill(host_out_.begin(), host_out_.end(), std::byte{1});
        stream_.synchronize();
    }

    static constexpr std::array<const char*, 4> names{"copy in alone", "work alone",
                                                      "copy out alone", "both copies at once"};
    static constexpr std::size_t copy_in = 0, work = 1, copy_out = 2, both = 3;
    /// Runs only this stage, again and again.
    Side alone(std::size_t stage) {
        return {[this, stage](int calls) {
            for (int i = 0; i < calls; ++i) enqueue(stage, i);
            stream_.synchronize();
            other_.synchronize();
        }};
    }
    /// Runs all stages of a piece before the next piece.
    Side serial() {
        return {repeat([this](int call) {
            for (const std::size_t stage : {copy_in, work, copy_out}) enqueue(stage, call);
            stream_.synchronize();
        })};
    }
    /// The stage that takes longest for one piece, and its time.
    struct Slowest {
        std::size_t stage = 0;
        double seconds = 0;
    };
    Slowest slowest() {
        Slowest found;
        for (std::size_t stage = 0; stage < names.size(); ++stage)
            if (const double s = seconds(stage); s > found.seconds) found = {stage, s};
        return found;
    }
    /// Returns the time of the stage for one piece: the median of several runs.
    double seconds(std::size_t stage) {
        const Side side = alone(stage);
        side.run(static_cast<int>(sizes_.depth));
        std::vector<double> taken;
        for (int run = 0; run < 5; ++run) {
            const int calls = 2 * static_cast<int>(sizes_.depth);
            const std::int64_t begin = now_ns();
            side.run(calls);
            taken.push_back(static_cast<double>(now_ns() - begin) * 1e-9 / calls);
        }
        return median(taken);
    }

private:
    void enqueue(std::size_t stage, int call) {
        const auto piece = [&](heddle::Array<std::byte>& all) {
            return all.view().subview(static_cast<std::size_t>(call) % sizes_.depth * sizes_.bytes,
                                      sizes_.bytes);
        };
        if (stage == copy_in || stage == both) heddle::copy(stream_, piece(in_), piece(host_in_));
        if (stage == work) work_on_piece(stream_, sizes_);
        if (stage == copy_out || stage == both)
            heddle::copy(stage == both ? other_ : stream_, piece(host_out_), piece(out_));
    }
    StageSizes sizes_;
    heddle::Stream stream_, other_;
    heddle::Array<std::byte> host_in_, host_out_, in_, out_;
};

}  // namespace bench
