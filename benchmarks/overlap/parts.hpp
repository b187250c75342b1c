// bench_overlap: implementations without heddle, for comparison, on CUDA devices (cuda.cu). CPU
// devices have none.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heddle/device/device.hpp>

#include "measure.hpp"

namespace bench {

struct StageSizes {
    std::size_t bytes = 0;  ///< size of a piece
    std::size_t depth = 0;
    std::uint64_t work_ns = 0;  ///< time for a piece; if 0, no work is enqueued
    bool rests =
        false;  ///< whether the work only sleeps, in a host function, and needs no processor
};

/// One call processes one piece. Each stage has its own stream: copying in from pinned or pageable
/// memory, work, and copying out to pinned memory. `depth` pieces are in flight. Before a slot's
/// buffers are reused, the caller waits for the slot's output.
Peer raw_overlap(heddle::Device device, const StageSizes& sizes, bool is_pinned);

/// One call copies one piece in, on one stream, and waits.
Peer raw_input(heddle::Device device, std::size_t bytes, std::size_t depth, bool is_pinned);

}  // namespace bench
