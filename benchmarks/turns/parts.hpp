// bench_turns: what stands beside heddle: threads, which the operating system lets take turns.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "measure.hpp"

namespace bench {

/// Work that goes on until it is stopped, and what may be asked for meanwhile.
class Busy {
public:
    virtual ~Busy() = default;
    virtual void begin() = 0;    ///< returns once all that is to be busy has begun
    virtual void request() = 0;  ///< has one empty operation run beside the busy ones, and waits
    virtual void end() = 0;
};

/// The side of a row: `calls` requests, timed, with the work begun before and ended after.
Side side_of(const std::function<Busy*()>& make);

/// `streams` that always have operations of `ns`.
Peer busy_threads(int streams, std::uint64_t ns);

}  // namespace bench
