// The causes of stuck work.
#pragma once

#include <cstdint>
#include <vector>

#include <heddle/observe/watch.hpp>

#include "watch/picture.hpp"

namespace heddle::detail {

/// A cause, with the thread whose stack shows more about it.
struct StuckCause {
    CauseKind kind;
    std::string text;
    int thread = 0;  ///< thread id as from gettid(); 0 for none
};

/// Returns the known causes. Streams that have advanced within `least_ns` are not considered.
std::vector<StuckCause> find_causes(const Snapshot& picture, std::int64_t least_ns);

/// Returns whether a stream of the device is stuck: neither the stream nor anything that it waits
/// for has advanced for `least_ns`.
bool is_stuck(const Snapshot& picture, Device device, std::int64_t least_ns);
/// Returns whether a thread is stuck. The thread must have waited for `least_ns`, and a stream that
/// the thread waits for must have been stuck for as long. If it waits for another process's event,
/// no stream need be stuck. `thread` is an index into Snapshot::threads.
bool is_stuck(const Snapshot& picture, std::size_t thread, std::int64_t least_ns);

}  // namespace heddle::detail
