// A check that keeps what it finds, and operations for programs that it checks.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include <heddle/check.hpp>

#include "check/unseen.hpp"
#include "kernel_launches.hpp"
#include "support.hpp"

namespace heddle_test {

/// Checks from its construction on, and keeps the races.
class Checked {
public:
    explicit Checked(check::Options options = {}) {
        check::on_race([this](const check::Race& race) {
            const std::lock_guard lock(mutex_);
            races_.push_back(race);
        });
        check::start(options);
    }
    ~Checked() {
        (void)check::stop();
        check::on_race(nullptr);
    }
    Checked(const Checked&) = delete;
    Checked& operator=(const Checked&) = delete;

    check::Summary end() { return check::stop(); }
    std::vector<check::Race> races() {
        const std::lock_guard lock(mutex_);
        return races_;
    }

    /// Ends the check, which must have found nothing.
    void expect_silence() {
        const check::Summary found = end();
        for (const check::Race& race : races()) UNSCOPED_INFO(race.text);
        CHECK(found.certain == 0);
        CHECK(found.possible == 0);
        CHECK(found.faults == 0);
    }
    /// Ends the check, which must have found one certain race, and returns it.
    check::Race expect(check::RaceKind kind) {
        const check::Summary found = end();
        const std::vector<check::Race> all = races();
        for (const check::Race& race : all) UNSCOPED_INFO(race.text);
        CHECK(found.certain == 1);
        CHECK(found.faults == 0);
        REQUIRE(all.size() == 1);
        CHECK(std::string(to_string(all[0].kind)) == to_string(kind));
        return all[0];
    }

private:
    std::mutex mutex_;
    std::vector<check::Race> races_;
};

/// How many elements the arrays have.
inline constexpr std::size_t size = 64;

/// Enqueues a kernel that reads and writes `x`. It has run when this returns, in a way that the
/// checker does not see: what it calls a race is none for ThreadSanitizer.
template <class X> void write(StreamRef stream, X&& x) {
    launch(stream, Add{}, dim(x.size()), x, 1);
    if (!is_capturing(stream)) wait_unseen(stream);
}
/// The same for a kernel that reads `x` and writes `y`.
template <class X, class Y> void read(StreamRef stream, const X& x, Y&& y) {
    launch(stream, AddTo{}, dim(x.size()), x, y);
    if (!is_capturing(stream)) wait_unseen(stream);
}

/// Streams of the device under test and arrays of int, made before the check begins.
struct Sample {
    Sample() { synchronize(); }
    Drained drained;
    Stream a{{.name = "a"}}, b{{.name = "b"}}, c{{.name = "c"}};
    Array<int> x = zeros<int>(a, size), y = zeros<int>(a, size), z = zeros<int>(a, size);
};

}  // namespace heddle_test
