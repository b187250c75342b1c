// Threads that query and wait at random while a program runs.
#pragma once

#include "program.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace heddle_test::programs {

/// What the threads may touch: objects that exist for the whole program. The arrays are never
/// written.
struct PestsView {
    std::vector<StreamRef> streams;
    std::vector<const Array<int>*> constants;
    /// Whether the threads' own streams wait for the program's. False in a capture, which they
    /// would join.
    bool wait_on_streams = true;
    bool whole_devices = true;
};

class Pests {
public:
    Pests(int count, const PestsView& view, std::uint64_t seed);
    ~Pests();
    Pests(const Pests&) = delete;
    Pests& operator=(const Pests&) = delete;

private:
    void pester(const PestsView& view, std::uint64_t seed);

    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

}  // namespace heddle_test::programs
