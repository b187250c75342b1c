// A check on streams of the device under test.
#pragma once

#include <heddle/check.hpp>

#include <mutex>
#include <vector>

#include "support.hpp"

namespace heddle_test {

/// A check that keeps the races.
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

private:
    std::mutex mutex_;
    std::vector<check::Race> races_;
};

}  // namespace heddle_test
