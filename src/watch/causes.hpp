// Why what is pending does not go on.
#pragma once

#include <cstdint>
#include <vector>

#include <heddle/observe/watch.hpp>

#include "watch/picture.hpp"

namespace heddle::detail {

/// A cause, and the thread whose stack shows more.
struct Cause {
    CauseKind kind;
    std::string text;
    int thread = 0;  ///< as gettid(); 0: none
};

/// Returns the causes that are known. Only streams that have not moved for `least_ns` have some.
std::vector<Cause> find_causes(const Picture& picture, std::int64_t least_ns);

/// Returns whether a stream of the device has not moved for `least_ns`, nor anything that it
/// depends on.
bool is_stuck(const Picture& picture, Device device, std::int64_t least_ns);
/// The same for what a thread waits for that has waited for as long. `thread`: index into
/// Picture::threads.
bool is_stuck(const Picture& picture, std::size_t thread, std::int64_t least_ns);

}  // namespace heddle::detail
