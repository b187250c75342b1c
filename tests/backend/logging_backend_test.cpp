// Tests the backend that heddle_backend_tests tests by default: it takes the place of the CPU
// backend, and its log shows which calls core makes.
#include "backend/backend_under_test.hpp"
#include "backend/logging_backend.hpp"
#include "support.hpp"

#include <string>

using namespace heddle_test;

namespace Catch {
template <> struct StringMaker<SeamCall> {
    static std::string convert(SeamCall call) {
        return "call " + std::to_string(static_cast<int>(call));
    }
};
}  // namespace Catch

namespace {

using Calls = std::vector<SeamCall>;

/// Returns the calls with a stream so far, except those that may be made at any time.
Calls calls_with(StreamRef stream) {
    Calls calls = logging_backend().log.newest(stream.id());
    std::erase_if(calls, [](SeamCall call) {
        return call == SeamCall::position || call == SeamCall::reached ||
               call == SeamCall::is_stream_complete;
    });
    return calls;
}

std::uint64_t count(SeamCall call) { return logging_backend().log.count(call); }

}  // namespace

TEST_CASE("core reaches CPU devices only through the backend under test") {
    CHECK(&detail::cpu_backend() == &logging_backend());
    CHECK(&library_cpu_backend() != &logging_backend());
    CHECK(&detail::backend_of(DeviceKind::cpu) == &logging_backend());
    const Stream s{cpu_device()};
    CHECK(detail::record_of(s).backend == &logging_backend());
}

TEST_CASE("the log has the calls with a stream, in order") {
    Stream s{cpu_device()};
    const Stream other{cpu_device()};
    Array<int> x = empty<int>(s, 100);
    fill(s, x, 1);
    launch_host(s, [] {});
    s.wait_stream(other);  // elided: nothing was enqueued on `other`
    s.synchronize();
    CHECK(calls_with(s) == Calls{SeamCall::open_stream, SeamCall::allocate, SeamCall::fill,
                                 SeamCall::enqueue, SeamCall::synchronize_stream});
    CHECK(calls_with(other) == Calls{SeamCall::open_stream});
    CHECK(to_host(s, x) == Ints(100, 1));
}

TEST_CASE("the log counts each function separately") {
    Stream s{cpu_device()};
    const Array<int> x = zeros<int>(s, 10);
    Array<int> y = empty<int>(s, 10);
    const std::uint64_t copies = count(SeamCall::copy), fills = count(SeamCall::fill);
    copy(s, y, x);
    copy(s, y, x);
    CHECK(count(SeamCall::copy) == copies + 2);
    CHECK(count(SeamCall::fill) == fills);
    s.synchronize();
}

TEST_CASE("a rejected call does not reach the backend") {
    Stream s{cpu_device()};
    const Array<int> x = zeros<int>(s, 10);
    Array<int> y = empty<int>(s, 11);
    const std::uint64_t copies = count(SeamCall::copy);
    CHECK_THROWS_AS(copy(s, y, x), UsageError);
    CHECK(count(SeamCall::copy) == copies);
}

TEST_CASE("a stream's end is the last call with it") {
    std::uint64_t id = 0;
    {
        Stream s{cpu_device()};
        id = s.id();
        launch_host(s, [] {});
        s.synchronize();
    }
    const Calls calls = logging_backend().log.newest(id);
    REQUIRE_FALSE(calls.empty());
    CHECK(calls.back() == SeamCall::close_stream);
}

TEST_CASE("a log keeps the newest calls, and counts all") {
    CallLog log;
    constexpr std::uint64_t first = 1, second = 2;
    log.add(SeamCall::copy, first);
    for (std::size_t i = 0; i < CallLog::capacity; ++i)
        log.add(i == 0 ? SeamCall::launch : SeamCall::fill, second);
    CHECK(log.newest(first).empty());
    const Calls newest = log.newest(second);
    CHECK(newest.size() == CallLog::capacity);
    CHECK(newest.front() == SeamCall::launch);
    CHECK(newest.back() == SeamCall::fill);
    CHECK(log.count(SeamCall::copy) == 1);
    CHECK(log.count(SeamCall::fill) == CallLog::capacity - 1);
}
