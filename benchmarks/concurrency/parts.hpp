// bench_concurrency: heddle's peers on CUDA devices (cuda.cu), and on CPU devices
// (cpu.cpp) if there are any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <heddle/device/device.hpp>

#include "measure.hpp"
#include "team.hpp"

namespace bench {

/// One call: `kernels` kernels of one block and `ns` each, on `streams` streams forked from one and
/// joined into it (one stream: on itself), waited for.
Peer raw_fork_join(heddle::Device device, int streams, int kernels, std::uint64_t ns);

/// The same, but each stream in turn gets one kernel instead of all of its kernels at once.
Peer raw_dealt(heddle::Device device, int streams, int kernels, std::uint64_t ns);

/// One call: an empty kernel by each thread of the team, on `streams` streams in turn; `settle`
/// waits for them.
Peer raw_throughput(heddle::Device device, const std::shared_ptr<Team>& team, int streams);
/// The same with queues that have a thread each.
Peer plain_throughput(const std::shared_ptr<Team>& team, int streams);

/// Returns the time from the launch of an empty kernel of the greatest priority until its end is
/// seen, in µs. Meanwhile 10 kernels of 20 blocks of 2048 threads for each multiprocessor, 20 µs a
/// block, run with the least priority. Returns an empty function on CPU devices.
std::function<double()> raw_urgent(heddle::Device device);

/// One call: a kernel and, after it, a host function; all calls on one stream, waited for.
Peer raw_round_trips(heddle::Device device);

}  // namespace bench
