// Host functions that heddle enqueues internally, and host functions of graphs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/seam/records.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Enqueues `function`. It runs once, in stream order, on a driver thread. It must not call CUDA.
/// An exception is reported. Not for capturing streams, because every launch of the graph would
/// call it.
void run_on_host(Gpu& g, StreamRecord& stream, std::function<void()> function,
                 const SourceLocation& where);

/// The submission number for work whose failures belong to a WorkOutcome without a stream. All work
/// of such a WorkOutcome counts as one submission.
inline constexpr std::uint64_t outcome_work = 1;
/// Where failures of a host function, and of work before it, are recorded: in the stream, for
/// submission `at`, or in a WorkOutcome.
struct FailureTarget {
    StreamRecord& stream;
    std::uint64_t at;
    /// If not null, owns the failures, and the stream only provides its name.
    WorkOutcome* outcome = nullptr;
};

/// Runs the closure of a graph's host node, on a driver thread. Skips it if the stream failed
/// before the launch of the graph, or if the outcome has failed. A failure poisons the stream, or
/// the outcome if there is one. `node` is the node's name, or null.
void run_in_graph(const FailureTarget& target, const OpType& type, void* closure, std::size_t count,
                  const SourceLocation& where, const std::string* node) noexcept;

}  // namespace heddle::detail::cu
