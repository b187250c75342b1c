// A node of a native graph.
#pragma once

#include <cstdint>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "core/seam/records.hpp"

namespace heddle::detail::cu {

/// A node of heddle's graph in the native graph.
struct NativeNode {
    cudaGraphNode_t native = nullptr;  ///< the last native node, if there are several
    std::uint32_t component = 0;       ///< index of its connected component
    bool is_staged = false;            ///< whether the node consists of several native nodes
    bool is_disabled = false;
    CUfunction function = nullptr;  ///< the new function of an updated kernel node
    const void* symbol = nullptr;   ///< the symbol that `function` belongs to
    EventOwner event = {};          ///< not reused while launches may use it
};

}  // namespace heddle::detail::cu
