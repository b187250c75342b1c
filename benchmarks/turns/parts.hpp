// bench_turns: heddle's peers: threads that the operating system schedules.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "measure.hpp"

namespace bench {

/// Work that continues until it is stopped, and requests meanwhile.
class Busy {
public:
    virtual ~Busy() = default;
    virtual void begin() = 0;    ///< returns once all busy work has begun
    virtual void request() = 0;  ///< runs one empty operation beside the busy ones, and waits
    virtual void end() = 0;
};

/// Returns the side of a row: `calls` requests, timed, with the work begun before and ended after.
Side side_of(const std::function<Busy*()>& make);

/// `streams` threads that always have operations of `ns`.
Peer busy_threads(int streams, std::uint64_t ns);

}  // namespace bench
