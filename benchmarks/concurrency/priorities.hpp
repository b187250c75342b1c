// bench_concurrency: urgent work during a flood of other work.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <heddle/heddle.hpp>

#include "concurrency/parts.hpp"
#include "report.hpp"
#include "spin.hpp"

namespace bench {

/// Enqueues at least 4 ms of work that occupies the whole device, in pieces of `piece_ns`: thread
/// blocks on CUDA, and operations on a CPU.
class Flood {
public:
    Flood(heddle::Device device, std::uint64_t piece_ns) : device_(device), piece_ns_(piece_ns) {
        const int streams = device.is_cuda() ? 1 : 4 * device.info().processors;
        for (int i = 0; i < streams; ++i)
            streams_.emplace_back(device, heddle::StreamOptions{.priority = 0, .name = "bulk"});
    }
    void start() {
        if (device_.is_cuda()) {
            const std::size_t threads = flood_threads(device_, piece_ns_);
            for (int i = 0; i < flood_kernels; ++i)
                heddle::launch(streams_[0], Spin{}, heddle::dim(threads), piece_ns_);
        } else {
            for (int i = 0; i < 20; ++i)
                for (const heddle::Stream& stream : streams_)
                    heddle::launch(stream, Spin{}, heddle::dim(1), piece_ns_);
        }
    }
    bool is_over() const {
        for (const heddle::Stream& stream : streams_)
            if (!stream.is_complete()) return false;
        return true;
    }
    void finish() const {
        for (const heddle::Stream& stream : streams_) stream.synchronize();
    }

private:
    heddle::Device device_;
    std::uint64_t piece_ns_;
    std::vector<heddle::Stream> streams_;
};

inline void sleep_us(int us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

/// Launches a small piece of work. Returns the time until the host notices its end, in µs. On CPU
/// devices, returns the time until the work runs instead, because a thread that waited would itself
/// run the work, even if other work is more urgent.
inline double urgent_us(heddle::StreamRef stream) {
    if (stream.device().is_cuda()) {
        const std::int64_t begin = now_ns();
        heddle::launch(stream, Spin{}, heddle::dim(1), std::uint64_t{0});
        stream.synchronize();
        return static_cast<double>(now_ns() - begin) * 1e-3;
    }
    std::atomic<std::int64_t> ran{0};
    const std::int64_t begin = now_ns();
    heddle::launch_host(stream, [&ran] { ran = now_ns(); });
    while (ran == 0) sleep_us(20);
    stream.synchronize();
    return static_cast<double>(ran - begin) * 1e-3;
}

inline void add_priority_rows(Report& report, heddle::Device device, std::uint64_t piece_ns,
                              const std::string& flood_of) {
    const std::string name =
        "urgent work beside a flood" + flood_of + ", from its launch until done";
    if (!report.wants(name)) return;
    const heddle::PriorityRange range = device.priorities();
    const heddle::Stream urgent{device, {.priority = range.greatest, .name = "urgent"}};
    const heddle::Stream usual{device, {.priority = range.least, .name = "usual"}};
    Flood flood(device, piece_ns);
    int idle = 0;
    const auto sample = [&](heddle::StreamRef stream, std::vector<double>& us) {
        flood.start();
        sleep_us(300);
        if (flood.is_over()) ++idle;
        us.push_back(urgent_us(stream));
        flood.finish();
    };
    const std::function<double()> raw = raw_urgent(device, piece_ns);
    std::vector<double> with, without, by_hand;
    const std::size_t samples = report.quick() ? 3 : device.is_cuda() ? 200 : 60;
    for (std::size_t i = 0; i < samples + 1; ++i) {
        sample(urgent, with);
        sample(usual, without);
        if (raw) by_hand.push_back(raw());
        if (i == 0) with.clear(), without.clear(), by_hand.clear();  // discards the warm-up
    }
    if (idle != 0) std::fprintf(stderr, "%s: %d floods were over too soon\n", name.c_str(), idle);
    const auto add = [&](const std::vector<double>& theirs, const std::string& peer) {
        report.add(of_pairs(name, device.name(), with, theirs, "µs", peer));
        const double ours99 = percentile(with, 0.99), theirs99 = percentile(theirs, 0.99);
        report.add({.name = name + ", 99th percentile",
                    .device = device.name(),
                    .heddle = ours99,
                    .raw = theirs99,
                    .unit = "µs",
                    .ratio = ours99 / theirs99,
                    .peer = peer});
    };
    add(without, "heddle, priority " + std::to_string(usual.priority()) + " instead of " +
                     std::to_string(urgent.priority()));
    if (raw) add(by_hand, "the same by hand, with priority");
}

/// Adds rows with the median and the 99th percentile. On CUDA devices, the blocks of the flood are
/// short, medium or long. A block is never interrupted, so long blocks delay urgent work most.
inline void add_priorities(Report& report, heddle::Device device) {
    if (!device.is_cuda()) return add_priority_rows(report, device, 50'000, "");
    add_priority_rows(report, device, 3'000, " of blocks of 3 µs");
    add_priority_rows(report, device, 20'000, " of blocks of 20 µs");
    add_priority_rows(report, device, 250'000, " of blocks of 0.25 ms");
}

}  // namespace bench
