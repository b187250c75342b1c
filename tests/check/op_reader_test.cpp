// Notifications about streams, events and arrays contain everything that the checker needs.
#include <heddle/observe/check.hpp>

#include "check/engine.hpp"
#include "check/op_reader.hpp"
#include "check/unseen.hpp"
#include "kernel_launches.hpp"
#include "support.hpp"

#include <mutex>

using namespace heddle_test;

using detail::Finding;
using detail::FindingKind;

namespace {

/// Checks the work that is enqueued while this object exists.
class Checked final : public Observer {
public:
    Checked() { add_observer(*this); }
    ~Checked() { remove_observer(*this); }
    Checked(const Checked&) = delete;
    Checked& operator=(const Checked&) = delete;

    void on_op(const OpInfo& op) noexcept override {
        const std::lock_guard lock(mutex_);
        engine_.add(reader_.read(op));
    }
    std::vector<Finding> findings() {
        const std::lock_guard lock(mutex_);
        engine_.finish();
        return engine_.findings();
    }
    std::string name(const detail::FindingSide& side) { return reader_.sites()[side.site].name; }
    unsigned line(const detail::FindingSide& side) { return reader_.sites()[side.site].line; }

private:
    std::mutex mutex_;
    detail::OpReader reader_;
    detail::CheckEngine engine_;
};

}  // namespace

TEST_CASE("check: two streams that use one array, with a wait and without") {
    const check::ScopedOff others;  // turns off HEDDLE_CHECK
    const Stream a(test_device()), b(test_device());
    Checked checked;
    Array<int> x = zeros<int>(a, 100);
    b.wait_stream(a);
    launch(b, Add{}, dim(100), x, 1);
    wait_unseen(b);
    CHECK(checked.findings().empty());
    const unsigned line = __LINE__ + 1;
    launch(a, Add{}, dim(100), x, 1);
    const std::vector<Finding> found = checked.findings();
    REQUIRE(found.size() == 1);
    CHECK(found[0].is_certain);
    CHECK(found[0].kind == FindingKind::write_after_write);
    CHECK(found[0].first.stream == b.id());
    CHECK(found[0].second.stream == a.id());
    CHECK(checked.line(found[0].first) == line - 4);
    CHECK(checked.line(found[0].second) == line);
    CHECK_THAT(checked.name(found[0].first), contains("Add"));
    CHECK(found[0].begin == reinterpret_cast<std::uintptr_t>(x.data()));
    CHECK(found[0].end - found[0].begin == 400);
    CHECK(found[0].element == sizeof(int));
    b.synchronize();
}

TEST_CASE("check: a program that is right is not accused") {
    const Here here;
    Checked checked;
    Array<int> x = zeros<int>(1000);
    Array<int> staging = pinned<int>(1000);
    fork_join([&] { launch(Add{}, dim(500), x.view().first(500), 1); },
              [&] { launch(Add{}, dim(500), x.view().last(500), 2); });
    const Stream other(test_device());
    {
        const ScopedStream in(other);
        launch(Add{}, dim(1000), x, 3);
        copy(staging, x);
    }
    other.synchronize();
    for (const int value : on_host(std::as_const(staging))) CHECK(value > 3);
    std::vector<int> plain = to_host(x);
    plain[0] = 7;
    copy(other, x, plain);
    plain[0] = 8;
    x.reset();
    synchronize();
    for (const Finding& one : checked.findings())
        FAIL_CHECK(to_string(one.kind)
                   << (one.is_certain ? "" : ", possibly") << ": " << checked.name(one.first)
                   << ", line " << checked.line(one.first) << ", and " << checked.name(one.second)
                   << ", line " << checked.line(one.second));
}

TEST_CASE("check: graphs tell what they access") {
    const check::ScopedOff others;  // turns off HEDDLE_CHECK
    const Stream a(test_device()), b(test_device());
    Checked checked;
    Array<int> x = zeros<int>(a, 100);
    Graph graph;
    {
        ScopedCapture capture(a);
        launch(a, Add{}, dim(100), x, 1);
        graph = capture.end();
    }
    graph.launch(a);
    wait_unseen(a);
    CHECK(checked.findings().empty());
    launch(b, Add{}, dim(100), x, 1);
    const std::vector<Finding> found = checked.findings();
    REQUIRE_FALSE(found.empty());
    CHECK(checked.name(found.back().first) == "graph");
    synchronize();
}
