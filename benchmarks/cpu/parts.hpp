// bench_cpu: heddle's peers. A queue with a thread, which every program can have
// (plain.cpp); oneTBB (tbb.cpp) and OpenMP (openmp.cpp) if they are installed, otherwise
// empty lists.
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

/// The operation of all sides: adds one to a counter that no other thread writes
/// meanwhile, and takes `ns`.
struct alignas(64) Counter {
    long value = 0;
    void operate(std::uint64_t ns) {
        ++value;
        if (ns != 0) spin_for(ns);
    }
};

/// Call it after a batch, untimed. Threads that spin for a while in search of work (libgomp's for
/// some milliseconds) are asleep when the other side begins.
inline void let_threads_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

/// `calls` operations, one after the other, enqueued and run. One call is one operation.
std::vector<Peer> plain_chains();
std::vector<Peer> tbb_chains();
/// The same in an existing graph.
std::vector<Peer> tbb_graphs();

/// Operations of `ns` in turn on each of `queues` that keep order and do not know each other.
/// One call is one operation.
std::vector<Peer> plain_queues(int queues, std::uint64_t ns);
std::vector<Peer> tbb_queues(int queues, std::uint64_t ns);
std::vector<Peer> openmp_queues(int queues, std::uint64_t ns);

/// `branches` concurrent operations of `ns`, waited for. One call is all of them.
std::vector<Peer> plain_fork_joins(int branches, std::uint64_t ns);
std::vector<Peer> tbb_fork_joins(int branches, std::uint64_t ns);
std::vector<Peer> openmp_fork_joins(int branches, std::uint64_t ns);

/// One operation, enqueued, and its beginning seen by the caller, which polls.
std::vector<Peer> plain_wakes();
std::vector<Peer> tbb_wakes();
/// One operation, enqueued and waited for.
std::vector<Peer> plain_round_trips();

/// z = x + 3 y by `threads` threads.
std::vector<Peer> openmp_triads(int threads, std::size_t count, const float* x, const float* y,
                                float* z);

}  // namespace bench
