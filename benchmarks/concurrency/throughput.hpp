// bench_concurrency: launches that several threads make at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <heddle/heddle.hpp>

#include "concurrency/parts.hpp"
#include "report.hpp"
#include "team.hpp"

namespace bench {

struct Tiny {
    HEDDLE_FN void operator()(std::size_t) const {}
};

/// Adds rows with the total launch rate of 1 to 16 threads, in millions per second. Each thread has
/// its own stream, or all threads share one stream. In one call, each thread launches once. Between
/// batches, the host waits for the work; this wait is not timed.
inline void add_throughput(Report& report, heddle::Device device) {
    for (const bool shared : {false, true})
        for (const unsigned threads : {1u, 2u, 4u, 8u, 16u}) {
            const std::string name = "launches by " + std::to_string(threads) +
                                     (threads == 1 ? " thread" : " threads") +
                                     (shared ? ", all on one stream" : ", a stream each");
            if (!report.wants(name) || (shared && threads == 1)) continue;
            const auto team = std::make_shared<Team>(threads);
            std::vector<heddle::Stream> streams;
            for (unsigned i = 0; i < (shared ? 1 : threads); ++i) streams.emplace_back(device);
            const Side heddle{
                .run =
                    [&](int calls) {
                        team->run([&](std::ptrdiff_t index, std::ptrdiff_t) {
                            const heddle::StreamRef stream =
                                streams[static_cast<std::size_t>(index) % streams.size()];
                            for (int i = 0; i < calls; ++i)
                                heddle::launch(stream, Tiny{}, heddle::dim(1));
                        });
                    },
                .finish = [&] { heddle::synchronize_device(device); }};
            // At most 960 launches are pending on one GPU stream, because its queue holds 1024.
            report.compare(
                name, device.name(), heddle,
                device.is_cuda()
                    ? raw_throughput(device, team, shared ? 1 : static_cast<int>(threads))
                    : plain_throughput(team, shared ? 1 : static_cast<int>(threads)),
                {.calls = shared ? 60 : 400, .pairs = 300, .seconds = 1.0, .quick_calls = 50},
                {"M/s", 0, static_cast<double>(threads) * 1e-6});
        }
}

}  // namespace bench
