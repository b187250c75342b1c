// bench_concurrency: implementations without heddle, for comparison. cuda.cu has those for CUDA
// devices. cpu.cpp has those for CPU devices, for some of the rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <heddle/device/device.hpp>

#include "measure.hpp"
#include "team.hpp"

namespace bench {

/// One call runs `kernels` kernels with one block, each for `ns`, and waits. They are on `streams`
/// streams, which are forked from a stream and joined into it. A single stream is not forked.
Peer raw_fork_join(heddle::Device device, int streams, int kernels, std::uint64_t ns);

/// The same, but the kernels are launched on the streams in turn, one at a time. raw_fork_join()
/// launches all kernels of a stream at once.
Peer raw_dealt(heddle::Device device, int streams, int kernels, std::uint64_t ns);

/// In one call, each thread of the team launches an empty kernel, on `streams` streams in turn.
/// `settle` waits for the kernels.
Peer raw_throughput(heddle::Device device, const std::shared_ptr<Team>& team, int streams);
/// The same with queues. Each queue has its own thread.
Peer plain_throughput(const std::shared_ptr<Team>& team, int streams);

/// Launches an empty kernel with the highest priority. Returns the time until the host sees its
/// end, in µs. Meanwhile, 10 kernels run with the lowest priority: 20 blocks of 2048 threads for
/// each multiprocessor, 20 µs for each block. On CPU devices, returns an empty function.
std::function<double()> raw_urgent(heddle::Device device);

/// One call is a kernel and then a host function. All calls are on one stream; then the host waits.
Peer raw_round_trips(heddle::Device device);

}  // namespace bench
