// Ranks of a communicator that have all joined, but that NCCL never connects.
#include "child.hpp"
#include "collective/collective.hpp"
#include "collective/nccl.hpp"
#include "collective/roll_calls.hpp"

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

using namespace heddle_test;
using namespace std::chrono_literals;

namespace {

/// Constructs rank 0, while rank 1 joins without NCCL, and ends after that if `ends`. Returns the
/// error's text.
std::string connect_in_vain(bool ends, std::chrono::milliseconds limit) {
    const CommunicatorId id = CommunicatorId::make();
    const auto address = RollAddress::decode(std::span(id.bytes).subspan<detail::nccl_id_size>());
    Member other;
    Threads joins(1, [&] {
        // If this rank is late, rank 0 has left, and this rank reaches the limit, too.
        (void)error_of([&] { other = join_roll_call(address, 1, 2, limit, {}); });
        if (ends) other.reset();
    });
    const Error error =
        thrown_by([&] { Communicator(id, 0, 2, test_device(), {.timeout = limit}); });
    CHECK(error.code() == ErrorCode::rank_lost);
    joins.join();
    return error.what();
}

}  // namespace

TEST_CASE("child: a rank whose other rank does not call NCCL", "[.child]") {
    end_if_it_hangs();
    const char* const then = std::getenv("HEDDLE_TEST_THEN");
    if (then == nullptr) HEDDLE_SKIP("it is run by another test");
    if (then == std::string("ends")) {
        CHECK_THAT(connect_in_vain(true, no_limit),
                   contains("rank 1 of 2 has ended while NCCL connected the ranks"));
    } else {
        CHECK(eventually([] {  // until rank 1 joins within the limit
            return connect_in_vain(false, 1s).find("NCCL has not connected them within 1 s") !=
                   std::string::npos;
        }));
    }
    // A thread still waits in NCCL. The rank continues with a communicator of its own.
    check_alone(Stream(test_device()));
    std::puts("goes on");
}

TEST_CASE("if NCCL does not connect the ranks, the constructor names the lost rank or its limit",
          "[collective]") {
    SKIP_WITHOUT_NCCL(1);
    for (const std::string then : {"ends", "stays"}) {
        CAPTURE(then);
        const ChildResult child = run_test_case("child: a rank whose other rank does not call NCCL",
                                                {"HEDDLE_TEST_THEN=" + then});
        INFO(child.output);
        CHECK(child.status == 0);
        CHECK_THAT(child.output, contains("goes on"));
    }
}
