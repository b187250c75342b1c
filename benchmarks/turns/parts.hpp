// bench_turns: the peers of heddle, which are threads scheduled by the operating system.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "measure.hpp"

namespace bench {

/// Work that continues until it is stopped. Meanwhile, requests are made.
class Busy {
public:
    virtual ~Busy() = default;
    virtual void begin() = 0;    ///< returns when all busy work has begun
    virtual void request() = 0;  ///< runs an empty operation during the busy work, and waits for it
    virtual void end() = 0;
};

/// Returns a row's way. `calls` requests are timed. The work begins before and ends after them.
Side side_of(const std::function<Busy*()>& make);

/// `streams` threads that always have operations to run, each of `ns`.
Peer busy_threads(int streams, std::uint64_t ns);

}  // namespace bench
