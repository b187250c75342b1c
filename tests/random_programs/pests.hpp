// Threads that query and wait at random while a program runs.
#pragma once

#include "program.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace heddle_test::programs {

/// What they may touch: things that are there from the beginning to the end of a program. Arrays are never written.
struct PestsView {
    std::vector<StreamRef> streams;
    std::vector<const Event*> events;
    std::vector<const Array<int>*> constants;
    bool wait_on_streams =
        true;  ///< their own streams wait, too: not for captured ones, whose capture they would join
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
