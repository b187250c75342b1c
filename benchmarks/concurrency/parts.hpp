// bench_concurrency: what stands beside heddle on CUDA devices (cuda.cu); on CPU devices nothing does.
#pragma once

#include <cstdint>

#include <heddle/device.hpp>

#include "measure.hpp"

namespace bench {

/// One call: `kernels` kernels of one block and `ns` each, on `streams` streams forked from one and joined
/// into it (one stream: on itself), run to the end.
Peer raw_fork_join(heddle::Device device, int streams, int kernels, std::uint64_t ns);

/// The same, but each stream in turn gets one kernel instead of all of its own at once.
Peer raw_dealt(heddle::Device device, int streams, int kernels, std::uint64_t ns);

/// One call: a kernel and, after it, a host function; all calls in one stream, run to the end.
Peer raw_round_trips(heddle::Device device);

}  // namespace bench
