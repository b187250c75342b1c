// Host functions that heddle enqueues for itself, and those of graphs.
#pragma once

#include <functional>

#include "core/seam/records.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Enqueues function(). It runs once, in stream order, on a driver thread, where it must not call
/// CUDA. An exception is reported. Not for capturing streams: a graph would call it again.
void run_on_host(Gpu& g, StreamRecord& stream, std::function<void()> function,
                 const SourceLocation& where);

/// Runs the closure of a graph's host node, on a driver thread. Skips it if the stream failed
/// before `at`, the submission of the graph's launch. A failure poisons the stream. `node` is the
/// node's name, or null.
void run_in_graph(StreamRecord& stream, std::uint64_t at, const OpType& type, void* closure,
                  std::size_t count, const SourceLocation& where, const std::string* node) noexcept;

}  // namespace heddle::detail::cu
