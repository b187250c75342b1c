// The internal streams that are passed to the `end` of adopt() if it has a StreamRef parameter.
#include "memory/lender.hpp"
#include "support.hpp"

#include <algorithm>
#include <functional>
#include <vector>

using namespace heddle_test;

TEST_CASE("ends with a stream use an idle stream of earlier ends, but no busy or failed one") {
    const Reports reports;
    Lender lender;
    std::vector<StreamRef> after;
    std::function<void(StreamRef)> work;
    const auto adopt_and_end = [&] {
        const Array<int> x = adopt(cpu_device(), lender.data, n, [&](int*, StreamRef stream) {
            after.push_back(stream);
            if (work) work(stream);
        });
    };
    adopt_and_end();
    adopt_and_end();
    CHECK(after[1] == after[0]);
    Gate gate;
    work = [&](StreamRef stream) {
        gate.hold(stream);
        launch_host(stream, [] { throw Boom("end"); });
    };
    adopt_and_end();
    work = nullptr;
    const StreamRef failing = after.back();
    after.clear();
    for (int i = 0; i < 20; ++i) adopt_and_end();
    gate.open();
    // The failure is reported when a later `end` needs a stream and this one has failed.
    CHECK(eventually([&] {
        adopt_and_end();
        return reports.count() == 1;
    }));
    CHECK(std::ranges::find(after, failing) == after.end());
}
