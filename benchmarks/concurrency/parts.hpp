// bench_concurrency: implementations without heddle, for comparison. cuda.cu is for CUDA devices.
// cpu.cpp is for CPU devices, and implements only some of the rows.
#pragma once

#include <cstddef>
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

/// The flood beside urgent work on a CUDA device: this number of kernels, one after the other.
inline constexpr int flood_kernels = 10;
/// Returns the number of threads of such a kernel if each takes `ns`. The device runs 2048 threads
/// on a multiprocessor at once, so all kernels take at least 4 ms.
inline std::size_t flood_threads(heddle::Device device, std::uint64_t ns) {
    const std::size_t turns = (400'000 + ns - 1) / ns;
    return turns * static_cast<std::size_t>(device.info().processors) * 2048;
}

/// Returns a function that launches an empty kernel with the highest priority, and returns the time
/// until the host notices its end, in µs. Before that, it launches a flood with the lowest
/// priority, whose blocks take `ns`. For CPU devices, returns an empty function.
std::function<double()> raw_urgent(heddle::Device device, std::uint64_t ns);

/// One call enqueues a kernel and then a host function. All calls are on one stream; then the host
/// waits.
Peer raw_round_trips(heddle::Device device);

}  // namespace bench
