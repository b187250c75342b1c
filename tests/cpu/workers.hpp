// Helpers for tests that control which workers of CPU devices are free.
#pragma once

#include <deque>
#include <string>

#include "child.hpp"
#include "support.hpp"

namespace heddle_test {

/// Occupies all workers. The destructor frees them.
class HeldWorkers {
public:
    HeldWorkers() {
        for (int i = 0; i < cpu_workers(); ++i) {
            const Flag inside, opened = opened_.emplace_back();
            launch_host(streams_.emplace_back(cpu_device()), [inside, opened] {
                inside.set();
                (void)opened.wait();
            });
            CHECK(inside.wait());
        }
    }
    ~HeldWorkers() {
        for (const Flag& one : opened_) one.set();
    }
    HeldWorkers(const HeldWorkers&) = delete;
    HeldWorkers& operator=(const HeldWorkers&) = delete;
    /// Frees one worker. All others remain occupied.
    void open_one() const { opened_.front().set(); }

private:
    std::deque<Stream> streams_;
    std::deque<Flag> opened_;
};

/// Runs a hidden test case on CPU devices, in processes with 1, 2 and 8 workers.
inline void check_with_workers(const std::string& child) {
    for (const char* const workers : {"1", "2", "8"}) {
        const ChildResult result = run_test_case(
            child, {std::string("HEDDLE_CPU_THREADS=") + workers, "HEDDLE_TEST_DEVICE=cpu"});
        INFO(workers << " workers\n" << result.output);
        CHECK(result.status == 0);
    }
}

}  // namespace heddle_test
