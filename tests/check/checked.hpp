// Runs a check on streams of the device under test, and stores its findings.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include <heddle/observe/check.hpp>

#include "support.hpp"

namespace heddle_test {

/// Runs a check from construction on, and stores the races.
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

    /// Ends the check. Fails the test if there were any findings.
    void expect_silence() {
        const check::Summary found = end();
        for (const check::Race& race : races()) UNSCOPED_INFO(race.text);
        CHECK(found.certain == 0);
        CHECK(found.possible == 0);
        CHECK(found.faults == 0);
    }
    /// Ends the check. Requires exactly one race, which must be certain, and returns it.
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

}  // namespace heddle_test
