// bench_overlap: heddle's peers on CUDA devices (cuda.cu); there are none on CPU devices.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heddle/device/device.hpp>

#include "measure.hpp"

namespace bench {

struct StageSizes {
    std::size_t bytes = 0;  ///< of a piece, each way
    std::size_t depth = 0;
    std::uint64_t work_ns = 0;  ///< of a piece; 0: nothing is enqueued
    bool rests =
        false;  ///< the work is a host function that sleeps, and leaves the processors to others
};

/// One call is one piece: copied in from pinned or from pageable memory, worked on, copied out to
/// pinned memory, on a stream for each, `depth` pieces in flight; the caller waits for a piece's
/// output before its buffers are used again.
Peer raw_overlap(heddle::Device device, const StageSizes& sizes, bool is_pinned);

/// One call is one piece copied in, on one stream; waited for.
Peer raw_input(heddle::Device device, std::size_t bytes, std::size_t depth, bool is_pinned);

}  // namespace bench
