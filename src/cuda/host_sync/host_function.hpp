// Host functions that heddle enqueues for itself, and those of graphs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/seam/records.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Enqueues function(). It runs once, in stream order, on a driver thread, where it must not call
/// CUDA. An exception is reported. Not for capturing streams: a graph would call it again.
void run_on_host(Gpu& g, StreamRecord& stream, std::function<void()> function,
                 const SourceLocation& where);

/// The submission that the work of a fate without a stream counts as.
inline constexpr std::uint64_t fate_work = 1;
/// Whose failure a host function meets and makes: the stream's, at this submission, or a fate's.
struct HostPlace {
    StreamRecord& stream;
    std::uint64_t at;
    Fate* fate = nullptr;  ///< if not null, the stream only gives its name
};

/// Runs the closure of a graph's host node, on a driver thread. Skips it if the stream failed
/// before the launch of the graph, or the fate has failed. A failure poisons the stream, or is the
/// fate's. `node` is the node's name, or null.
void run_in_graph(const HostPlace& place, const OpType& type, void* closure, std::size_t count,
                  const SourceLocation& where, const std::string* node) noexcept;

}  // namespace heddle::detail::cu
