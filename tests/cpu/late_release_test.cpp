// A worker that has completed a stream's last work, and has not released the completion yet.
#include "core/seam/completion.hpp"
#include "core/stream/registry.hpp"
#include "support.hpp"

#include <cstdint>
#include <mutex>

using namespace heddle_test;

namespace {

/// Returns the completion of the end of a stream that is closed and still has work to do.
detail::CompletionRef final_completion(detail::StreamRecord& closed) {
    const std::lock_guard lock(closed.life);
    REQUIRE(closed.final_event != nullptr);
    return *static_cast<detail::CompletionRef*>(closed.final_event);
}

}  // namespace

TEST_CASE("the failure of a branch is reported in time, even if a worker still has its base's end",
          "[cpu]") {
    const Reports reports;
    Gate gate;
    detail::StreamRecord* record = nullptr;
    {
        const Stream base(cpu_device());
        record = &detail::record_of(base);
        fork_join(
            base,
            [&](StreamRef branch) {
                gate.hold(branch);
                launch_host(branch, [] { throw Boom("nobody left"); });
            },
            [](StreamRef) {});
    }
    const detail::CompletionRef as_a_worker = final_completion(*record);
    const std::uint32_t before = as_a_worker.owners();
    Threads opens(1, [&] {
        (void)eventually([&] { return as_a_worker.owners() > before; });  // the call below waits
        gate.open();
    });
    CHECK_FALSE(error_of([] { synchronize_device(cpu_device()); }));
    opens.join();
    REQUIRE(reports.count() == 1);
    CHECK(cause_of(reports.all()[0]) == "nobody left");
}
