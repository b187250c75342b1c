// bench_overlap: copy in, work and copy out, each on its own, one after the other, and as a pipeline. The work is a kernel
// of one index that takes a known time, so that it leaves the memory (and on CPU devices the other workers) to
// the copies.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include <heddle/heddle.hpp>

#include "measure.hpp"
#include "spin.hpp"

namespace bench {

struct StageSizes {
    std::size_t bytes = 0;  ///< of a piece, each way
    std::size_t depth = 0;
    std::uint64_t work_ns = 0;  ///< of a piece; 0: nothing is enqueued
    bool rests = false;  ///< the work is a host function that sleeps, and leaves the processors to others
};

inline void work_on_piece(heddle::StreamRef stream, const StageSizes& sizes) {
    const std::uint64_t ns = sizes.work_ns;
    if (ns == 0) return;
    if (sizes.rests)
        heddle::launch_host(stream, [ns] { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); });
    else heddle::launch(stream, Spin{}, heddle::dim(1), ns);
}

/// A call is one piece; the pipeline is empty before a batch and after it, so that short batches show its start and end.
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

private:
    heddle::Pipeline<std::byte, std::byte> pipeline_;
};

/// The stages by themselves, on one stream, with as many buffers in turn as a pipeline has. A call is one piece.
class Stages {
public:
    Stages(heddle::Device device, StageSizes sizes)
        : sizes_(sizes), stream_(device), host_in_(heddle::pinned<std::byte>(sizes.bytes * sizes.depth)),
          host_out_(heddle::pinned<std::byte>(host_in_.size())),
          in_(heddle::zeros<std::byte>(stream_, host_in_.size())),
          out_(heddle::zeros<std::byte>(stream_, host_in_.size())) {
        std::fill(host_in_.begin(), host_in_.end(), std::byte{1});
        std::fill(host_out_.begin(), host_out_.end(), std::byte{1});
        stream_.synchronize();
    }

    static constexpr std::array<const char*, 3> names{"copy in", "work", "copy out"};
    /// One stage, again and again.
    Side alone(std::size_t stage) {
        return {[this, stage](int calls) {
            for (int i = 0; i < calls; ++i) enqueue(stage, i);
            stream_.synchronize();
        }};
    }
    /// All of a piece before the next.
    Side serial() {
        return {repeat([this](int call) {
            for (std::size_t stage = 0; stage < names.size(); ++stage) enqueue(stage, call);
            stream_.synchronize();
        })};
    }
    /// The stage that takes longest for a piece, and its time.
    struct Slowest {
        std::size_t stage = 0;
        double seconds = 0;
    };
    Slowest slowest() {
        Slowest found;
        for (std::size_t stage = 0; stage < names.size(); ++stage) {
            const Side side = alone(stage);
            side.run(static_cast<int>(sizes_.depth));
            std::array<double, 5> seconds{};
            for (double& s : seconds) {
                const int calls = 2 * static_cast<int>(sizes_.depth);
                const std::int64_t begin = now_ns();
                side.run(calls);
                s = static_cast<double>(now_ns() - begin) * 1e-9 / calls;
            }
            std::sort(seconds.begin(), seconds.end());
            if (seconds[2] > found.seconds) found = {stage, seconds[2]};
        }
        return found;
    }

private:
    void enqueue(std::size_t stage, int call) {
        const auto piece = [&](heddle::Array<std::byte>& all) {
            return all.view().subview(static_cast<std::size_t>(call) % sizes_.depth * sizes_.bytes,
                                      sizes_.bytes);
        };
        if (stage == 0) heddle::copy(stream_, piece(in_), piece(host_in_));
        else if (stage == 1) work_on_piece(stream_, sizes_);
        else heddle::copy(stream_, piece(host_out_), piece(out_));
    }
    StageSizes sizes_;
    heddle::Stream stream_;
    heddle::Array<std::byte> host_in_, host_out_, in_, out_;
};

}  // namespace bench
