// bench_cpu: implementations without heddle, for comparison. A queue with its own thread
// (plain.cpp) is always available. oneTBB (tbb.cpp) or OpenMP (openmp.cpp) may not be installed:
// its functions then return empty lists.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "measure.hpp"
#include "spin.hpp"

namespace bench {

/// The operation of all implementations: increments a counter, and takes `ns`. Only one thread at a
/// time writes the counter.
struct alignas(64) Counter {
    long value = 0;
    void operate(std::uint64_t ns) {
        ++value;
        if (ns != 0) spin_for(ns);
    }
};

/// Waits until the threads of other libraries sleep: some spin for a while after their work (in
/// libgomp for some milliseconds). Call it after each batch, outside the timed part.
inline void let_threads_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

/// Run operations one after the other. One call is one operation.
std::vector<Peer> plain_chains();
std::vector<Peer> tbb_chains();
/// Run the operations of the chains in a graph that already exists.
std::vector<Peer> tbb_graphs();

/// Enqueue operations of `ns` on each of `queues` queues in turn. A queue runs its operations in
/// order. The queues are independent. One call is one operation.
std::vector<Peer> plain_queues(int queues, std::uint64_t ns);
std::vector<Peer> tbb_queues(int queues, std::uint64_t ns);
std::vector<Peer> openmp_queues(int queues, std::uint64_t ns);

/// One call runs `branches` concurrent operations of `ns`, and waits for all of them.
std::vector<Peer> plain_fork_joins(int branches, std::uint64_t ns);
std::vector<Peer> tbb_fork_joins(int branches, std::uint64_t ns);
std::vector<Peer> openmp_fork_joins(int branches, std::uint64_t ns);

/// One call enqueues an operation, and polls until the operation has begun.
std::vector<Peer> plain_wakes();
std::vector<Peer> tbb_wakes();
/// One call enqueues an operation, and waits for its end.
std::vector<Peer> plain_round_trips();

/// Computes z = x + 3 y on `threads` threads.
std::vector<Peer> openmp_triads(int threads, std::size_t count, const float* x, const float* y,
                                float* z);

}  // namespace bench
