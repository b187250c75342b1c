// bench_cpu: what stands beside heddle. A queue with a thread, which every program can have
// (plain.cpp); oneTBB (tbb.cpp) and OpenMP (openmp.cpp) where they are installed, else lists of
// nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "measure.hpp"
#include "spin.hpp"

namespace bench {

/// What the operations of all sides do: they add one to a counter that no other thread writes
/// meanwhile, and take `ns`.
struct alignas(64) Counter {
    long value = 0;
    void operate(std::uint64_t ns) {
        ++value;
        if (ns != 0) spin_for(ns);
    }
};

/// Untimed, after a batch: threads that look for more work for a while (libgomp's for some
/// milliseconds) are asleep when the other side begins.
inline void let_threads_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

/// `calls` operations, one after the other, given and run. One call is one operation.
std::vector<Peer> plain_chains();
std::vector<Peer> tbb_chains();
/// The same in a graph that is there already.
std::vector<Peer> tbb_graphs();

/// Operations of `ns` in turn for each of `queues` that keep order and know nothing of each other.
/// One call is one operation.
std::vector<Peer> plain_queues(int queues, std::uint64_t ns);
std::vector<Peer> tbb_queues(int queues, std::uint64_t ns);
std::vector<Peer> openmp_queues(int queues, std::uint64_t ns);

/// `branches` operations of `ns` side by side, waited for. One call is all of them.
std::vector<Peer> plain_fork_joins(int branches, std::uint64_t ns);
std::vector<Peer> tbb_fork_joins(int branches, std::uint64_t ns);
std::vector<Peer> openmp_fork_joins(int branches, std::uint64_t ns);

/// One operation given, and seen to have begun by the caller, who looks again and again.
std::vector<Peer> plain_wakes();
std::vector<Peer> tbb_wakes();
/// One operation given and waited for.
std::vector<Peer> plain_round_trips();

/// z = x + 3 y by `threads` threads.
std::vector<Peer> openmp_triads(int threads, std::size_t count, const float* x, const float* y,
                                float* z);

}  // namespace bench
