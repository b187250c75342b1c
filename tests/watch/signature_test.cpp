// A report is repeated only if its contents have changed.
#include "watch/held.hpp"
#include "watch/report.hpp"

using namespace heddle_test;

namespace {
/// Takes two samples, so that running operations count as stalled. Returns the report's signature.
std::string signature(detail::Progress& progress) {
    for (int i = 0; i < 2; ++i) progress.look(1'000'000);
    const detail::Snapshot picture = detail::take_snapshot(&progress);
    return detail::signature_of(picture, detail::find_causes(picture, 0), 0);
}
}  // namespace

TEST_CASE("a report is told again if a stream is at another operation, else not", "[watch]") {
    const Drained drained;
    const Watched watched;
    detail::Progress progress;
    const Stream s = named("stuck");
    Held first(s), second(s);
    first.wait();
    const std::string before = signature(progress);
    CHECK(before.find("has not returned") != std::string::npos);
    CHECK(signature(progress) == before);
    launch_host(s, [] {});  // later work does not change the report
    CHECK(signature(progress) == before);
    first.open();
    second.wait();
    CHECK(signature(progress) != before);
}
