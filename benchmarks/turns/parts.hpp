// bench_turns: implementations without heddle, for comparison: threads scheduled by the operating
// system.
#pragma once

#include <cstdint>
#include <functional>

#include "measure.hpp"

namespace bench {

/// Work that continues until it is stopped. Requests are made while it runs.
class Busy {
public:
    virtual ~Busy() = default;
    virtual void begin() = 0;    ///< returns when all busy work has begun
    virtual void request() = 0;  ///< runs an empty operation during the busy work, and waits for it
    virtual void end() = 0;
};

/// Returns a side of a row, which times `calls` requests. The busy work begins before the timed
/// part, and ends after it.
Side side_of(const std::function<Busy*()>& make);

/// The busy work runs on `streams` threads. Each thread always has an operation to run, which takes
/// `ns` ns.
Peer busy_threads(int streams, std::uint64_t ns);

}  // namespace bench
