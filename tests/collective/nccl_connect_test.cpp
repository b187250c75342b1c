// A communicator whose ranks have joined, but whom NCCL never connects.
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

/// Joins the roll call of a communicator as rank 1 of 2, without NCCL.
Member join_without_nccl(const CommunicatorId& id) {
    const auto bytes = std::span(id.bytes).subspan<detail::nccl_id_size>();
    return join(RollAddress::decode(bytes), 1, 2);
}

/// Constructs rank 0, while rank 1 joins without NCCL, and ends after that if `ends`. Returns the
/// error's text.
std::string connect_in_vain(bool ends, std::chrono::milliseconds limit) {
    const CommunicatorId id = CommunicatorId::make();
    Member other;
    Threads joins(1, [&] {
        other = join_without_nccl(id);
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
    const Stream s(test_device());
    Array<int> x = full<int>(s, 100, 3);
    Communicator alone(CommunicatorId::make(), 0, 1, test_device());
    alone.all_reduce(s, ReduceOp::sum, x, x);
    CHECK(to_host(s, x) == Ints(100, 3));
    std::puts("goes on");
}

TEST_CASE("a rank that is lost while NCCL connects the ranks is named by the constructor",
          "[collective]") {
    SKIP_WITHOUT_NCCL(1);
    const ChildResult child = run_test_case("child: a rank whose other rank does not call NCCL",
                                            {"HEDDLE_TEST_THEN=ends"});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK_THAT(child.output, contains("goes on"));
}

TEST_CASE("where NCCL does not connect the ranks, the constructor ends at the limit",
          "[collective]") {
    SKIP_WITHOUT_NCCL(1);
    const ChildResult child = run_test_case("child: a rank whose other rank does not call NCCL",
                                            {"HEDDLE_TEST_THEN=stays"});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK_THAT(child.output, contains("goes on"));
}
