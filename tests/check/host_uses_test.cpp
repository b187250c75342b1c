// Host accesses to arrays: how often they query the check, the answers of the check, and its
// reports.
#include <span>

#include "check/checked_streams.hpp"
#include "check/host_uses_off.hpp"
#include "child.hpp"
#include "core/memory/host_use.hpp"

using namespace heddle_test;
using check::RaceKind;
using detail::HostUseFunction;
using detail::KnownUses;
using detail::ToldUse;

namespace {

constinit HostUseFunction ask_really = nullptr;
constinit int asked = 0;

KnownUses ask_and_count(const ToldUse& use) noexcept {
    ++asked;
    return ask_really(use);
}

/// Counts how often host accesses query the current check. For a single thread.
class CountedQuestions {
public:
    CountedQuestions() : before_(detail::host_use_function.exchange(&ask_and_count)) {
        ask_really = before_;
        asked = 0;
    }
    ~CountedQuestions() { detail::host_use_function = before_; }
    CountedQuestions(const CountedQuestions&) = delete;
    CountedQuestions& operator=(const CountedQuestions&) = delete;
    int count() const { return asked; }

private:
    HostUseFunction before_;
};

struct PinnedStreams : CheckedStreams {
    Array<int> pin = pinned_zeros(size), pin2 = pinned_zeros(size), pin3 = pinned_zeros(size);
    PinnedStreams() { synchronize(); }
};

/// Copies to pinned memory. On return, the copy is complete, but the checker does not know that.
void copy_unseen(StreamRef stream, Array<int>& to, const Array<int>& from) {
    copy(stream, to, from);
    wait_unseen(stream);
}

}  // namespace

TEST_CASE("device: a loop over arrays asks the check once for each") {
    PinnedStreams s;
    Checked checked;
    copy(s.a, s.pin, s.x);
    s.a.synchronize();
    const CountedQuestions questions;
    for (std::size_t i = 0; i < size; ++i) s.pin[i] = s.pin2[i] + s.pin3[i];
    for (int& value : s.pin) value += *s.pin2.data();
    CHECK(questions.count() == 3);
    copy(s.a, s.x, s.pin2);
    s.pin[0] = s.pin3[0];
    CHECK(questions.count() == 5);
    wait_unseen(s.a);
}

TEST_CASE("device: where a part of an array is in use, a loop over the rest asks once") {
    PinnedStreams s;
    Checked checked({.strict = true});
    copy(s.a, s.pin.subview(20, 10), s.x.first(10));
    const CountedQuestions questions;
    for (std::size_t i = 0; i < 20; ++i) s.pin[i] = 1;
    for (std::size_t i = 30; i < size; ++i) s.pin[i] = 1;
    CHECK(questions.count() == 2);
    checked.expect_silence();
    wait_unseen(s.a);
}

TEST_CASE("device: a loop that races is told once, and asks once") {
    PinnedStreams s;
    Checked checked;
    copy_unseen(s.a, s.pin, s.x);
    const CountedQuestions questions;
    int sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += s.pin[i];
    CHECK(questions.count() == 1);
    CHECK(sum == 0);
    checked.expect(RaceKind::read_after_write);
}

TEST_CASE("device: what is known is forgotten when anything is enqueued, by any thread") {
    PinnedStreams s;
    Checked checked;
    s.pin[0] = 1;
    std::thread([&] { copy_unseen(s.a, s.pin, s.x); }).join();
    s.pin[0] = 1;
    checked.expect(RaceKind::read_after_write);
}

TEST_CASE("device: a possible race of an array does not hide a certain one") {
    PinnedStreams s;
    Checked checked({.strict = true});
    copy_unseen(s.a, s.pin, s.x);
    (void)s.pin.data();
    (void)s.pin[0];
    const check::Summary found = checked.end();
    CHECK(found.possible == 1);
    CHECK(found.certain == 1);
}

TEST_CASE("device: nothing is told without a check, in ScopedOff, and by files compiled without") {
    PinnedStreams s;
    copy(s.a, s.pin, s.x);
    CHECK(detail::host_use_epoch == 0);
    s.a.synchronize();
    Checked checked({.strict = true});
    CHECK(detail::host_use_epoch != 0);
    copy_unseen(s.a, s.pin, s.x);
    {
        const check::ScopedOff off;
        s.pin[0] += 1;
    }
    s.pin = add_untold(std::move(s.pin), 2);
    CHECK(sum_untold(s.pin) == 2 * (4 * static_cast<int>(size) + 3) + 7);
    checked.expect_silence();
    CHECK(detail::host_use_epoch == 0);
}

TEST_CASE("device: an array of a file compiled without host accesses is told of by others") {
    PinnedStreams s;
    s.pin = add_untold(std::move(s.pin), 2);
    Checked checked;
    copy_unseen(s.a, s.pin, s.x);
    CHECK(s.pin[0] == 0);
    checked.expect(RaceKind::read_after_write);
}

TEST_CASE("device: reports of what the host does say by what, and how certain it is") {
    PinnedStreams s;
    Checked checked({.strict = true});
    std::string place;
    s.pin = pinned_zeros(size);
    const auto newest = [&] { return checked.races().back().text; };
    copy_unseen(s.a, s.pin, s.x);
    SECTION("array[i]") {
        (void)s.pin[7];
        place = std::to_string(Where().line - 1);
        CHECK_THAT(newest(),
                   contains("RACE (read after write): the host may read memory before the copy"));
        CHECK_THAT(newest(), contains("the host, at host_uses_test.cpp:" + place));
        CHECK_THAT(newest(), contains(", by array[i]\n      reads or writes it\n"));
        CHECK_THAT(newest(), contains("in common: elements [7, 8) of "));
        CHECK_THAT(newest(), contains("  Missing: before host_uses_test.cpp:" + place +
                                      ", for example\n      a.synchronize();"));
    }
    SECTION("a const array") {
        (void)std::as_const(s.pin)[7];
        CHECK_THAT(newest(), contains(", by array[i]\n      reads it\n"));
    }
    SECTION("begin()") {
        (void)s.pin.begin();
        CHECK_THAT(newest(), contains(", by array.begin()\n      reads or writes it\n"));
        CHECK_THAT(newest(), contains("in common: elements [0, 64) of "));
    }
    SECTION("data()") {
        (void)s.pin.data();
        CHECK_THAT(newest(), contains("POSSIBLE RACE (read after write)"));
        CHECK_THAT(newest(), contains(", by array.data()\n      takes its address\n"));
        CHECK_THAT(newest(), contains("the host may only take the address"));
    }
    SECTION("a span, whose place is not known") {
        (void)std::span<int>(s.pin);
        const std::vector<check::Race> all = checked.races();
        const auto certain = std::find_if(all.begin(), all.end(),
                                          [](const check::Race& one) { return one.certain; });
        REQUIRE(certain != all.end());
        CHECK_THAT(certain->text, contains("the host, some time after host_uses_test.cpp:"));
        CHECK_THAT(certain->text, contains("Missing: before the host's access, after "));
    }
    SECTION("on_host()") {
        (void)on_host(reads(s.pin))[0];
        CHECK_THAT(newest(), contains("\n      reads it\n"));
    }
}

TEST_CASE("device: a use by the host that may write is possible only where others read") {
    PinnedStreams s;
    Checked checked({.strict = true});
    copy(s.a, s.x, s.pin);
    wait_unseen(s.a);
    SECTION("not said") {
        s.pin[0] = 1;
        CHECK(checked.end().possible == 1);
        CHECK_THAT(checked.races()[0].text,
                   contains("with on_host(reads(array)) or on_host(writes(array))"));
    }
    SECTION("said to write") {
        on_host(writes(s.pin))[0] = 1;
        checked.expect(RaceKind::write_after_read);
    }
    SECTION("said to read") {
        for (const int value : on_host(reads(s.pin))) CHECK(value == value);
        checked.expect_silence();
    }
}

TEST_CASE("device: on_host() takes reads() and writes() of views, too") {
    PinnedStreams s;
    s.pin[3] = 5;
    const View<const int> seen = on_host(reads(s.pin.first(10)));
    CHECK(seen[3] == 5);
    const View<int> changed = on_host(writes(s.pin.view()));
    changed[3] = 6;
    CHECK(on_host(reads(std::as_const(s.pin).view()))[3] == 6);
}

TEST_CASE("device: kernels and host functions are no accesses by the host") {
    const Drained drained;
    const Stream a(cpu_device(), {.name = "a"});
    Array<int> x = zeros<int>(a, size);
    a.synchronize();
    Checked checked({.strict = true});
    launch(a, Add{}, dim(size), x, 1);
    launch_host(a, [&] { x[0] += 1; }, writes(x));
    a.synchronize();
    CHECK(x[0] == 2);
    checked.expect_silence();
}

TEST_CASE("device: a child of a checked process uses arrays as it likes") {
    HEDDLE_SKIP_WITHOUT_FORK();
    PinnedStreams s;
    Checked checked({.strict = true});
    copy_unseen(s.a, s.pin, s.x);
    const ChildResult child = run_forked([&] {
        s.pin[0] = 1;
        return detail::host_use_epoch == 0 ? 0 : 1;
    });
    CHECK(child.status == 0);
    checked.expect_silence();
}
