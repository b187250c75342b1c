// A session that uses a fake CUPTI, for tests without a GPU.
#pragma once

#include "fake_cupti.hpp"

#include "../operation/watch.hpp"
#include "cuda/cupti/session.hpp"

namespace heddle_test {

inline constexpr std::uint64_t second_ns = 1'000'000'000;

/// A session that has begun, and an observer of its reports.
struct Begun {
    FakeCupti cupti;
    heddle::detail::cu::CuptiSession session;
    Watch watch{{.times = true}};

    explicit Begun(std::size_t buffers = 64) : session(FakeCupti::functions(), buffers) {
        REQUIRE(session.begin() == "");
    }
    ~Begun() { session.end(); }
    /// Enqueues work of an operation on this thread. Returns the number of the call.
    std::uint32_t enqueue(std::uint64_t operation) {
        session.push(operation);
        const std::uint32_t call = cupti.call();
        session.pop();
        return call;
    }
    /// Returns the time `ns` ns after the session began.
    std::uint64_t at(std::uint64_t ns) const { return cupti.now + ns; }
    std::vector<OpRun> told() {
        session.tell();
        return watch.runs();
    }
};

}  // namespace heddle_test
