// bench_concurrency: implementations without heddle, for comparison. cuda.cu is for CUDA devices.
// cpu.cpp is for CPU devices, and implements only some of the rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <heddle/device/device.hpp>

#include "measure.hpp"
#include "team.hpp"

namespace bench {

/// One call runs `kernels` kernels, and waits. Each kernel has one block and takes `ns`. The
/// kernels are on `streams` streams, which are forked from one stream and joined into it again. A
/// single stream is not forked.
Peer raw_fork_join(heddle::Device device, int streams, int kernels, std::uint64_t ns);

/// Like raw_fork_join(), but launches one kernel on each stream in turn. raw_fork_join() launches
/// all kernels of one stream before those of the next.
Peer raw_dealt(heddle::Device device, int streams, int kernels, std::uint64_t ns);

/// In one call, each thread of the team launches an empty kernel. The threads use `streams` streams
/// in turn. Side::finish waits for the kernels.
Peer raw_throughput(heddle::Device device, const std::shared_ptr<Team>& team, int streams);
/// Like raw_throughput(), but with queues. Each queue has its own thread.
Peer plain_throughput(const std::shared_ptr<Team>& team, int streams);

/// Returns a function that launches an empty kernel with the highest priority, and returns the time
/// until the host notices its end, in µs. At the same time, 10 kernels run with the lowest
/// priority: 20 blocks of 2048 threads for each multiprocessor, 20 µs for each block. For CPU
/// devices, returns an empty function.
std::function<double()> raw_urgent(heddle::Device device);

/// One call enqueues a kernel and then a host function. All calls are on one stream; then the host
/// waits.
Peer raw_round_trips(heddle::Device device);

}  // namespace bench
