// Threads that query, wait, enqueue and leave each other's scopes, at random, while a program runs.
#pragma once

#include "program.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace heddle_test::programs {

/// Objects that the threads may use. They exist as long as the program runs. The arrays are never
/// written.
struct PestsView {
    std::vector<StreamRef> streams;
    std::vector<const Array<int>*> constants;
    /// Whether the threads' own streams wait for the program's streams. Must be false if the
    /// program's streams are captured, because the waiting streams would join the capture.
    bool wait_on_streams = true;
    bool whole_devices = true;
    /// Whether the threads enqueue work without effect. Captured streams would record it as a node.
    bool enqueues = true;
    /// Whether the threads leave each other's scopes, like coroutines that move to another thread.
    bool moves_scopes = true;
};

class Pests {
public:
    Pests(int count, const PestsView& view, std::uint64_t seed);
    ~Pests();
    Pests(const Pests&) = delete;
    Pests& operator=(const Pests&) = delete;

private:
    void pester(const PestsView& view, std::uint64_t seed);
    void move_scope(StreamRef stream, bool waits_on_exit);

    std::atomic<bool> stop_{false};
    std::atomic<ScopedStream*> moved_{nullptr};  ///< a scope that the next thread will leave
    std::shared_ptr<const ReportHook> before_;
    std::vector<std::thread> threads_;
};

}  // namespace heddle_test::programs
