// Host functions for the backend's own use.
#pragma once

#include <functional>

#include "core/records.hpp"
#include "cuda/gpu.hpp"

namespace heddle::detail::cu {

/// Calls function() once in stream order, on one of the driver's threads, where it may not call CUDA. What it
/// throws is reported. Not for capturing streams: a graph would call it again.
void run_on_host(Gpu& g, StreamRecord& stream, std::function<void()> function, const SourceLocation& where);

/// Runs the closure of a graph's host node on a thread of the driver's, unless the stream failed before `at`, the launch of the graph; a
/// failure is the stream's. `node`: the node's name, if it has one.
void run_in_graph(StreamRecord& stream, std::uint64_t at, const OpType& type, void* closure,
                  std::size_t count, const SourceLocation& where, const std::string* node) noexcept;

}  // namespace heddle::detail::cu
