// The causes of stuck work.
#pragma once

#include <cstdint>
#include <vector>

#include <heddle/observe/watch.hpp>

#include "watch/picture.hpp"

namespace heddle::detail {

/// A cause, and the thread whose stack shows more.
struct StuckCause {
    CauseKind kind;
    std::string text;
    int thread = 0;  ///< as gettid(); 0 for none
};

/// Returns the known causes. A stream that has advanced within `least_ns` has no cause.
std::vector<StuckCause> find_causes(const Snapshot& picture, std::int64_t least_ns);

/// Returns whether some stream of the device is stuck: neither the stream nor anything that it
/// waits for has advanced for `least_ns`.
bool is_stuck(const Snapshot& picture, Device device, std::int64_t least_ns);
/// Returns whether a thread has waited for `least_ns`, and nothing that it waits for has advanced
/// for as long. `thread`: index into Snapshot::threads.
bool is_stuck(const Snapshot& picture, std::size_t thread, std::int64_t least_ns);

}  // namespace heddle::detail
