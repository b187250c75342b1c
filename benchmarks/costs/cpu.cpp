// bench_costs on CPU devices: what stands beside heddle there, and rows of whole runs, execution included.
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include <heddle/heddle.hpp>

#include "costs/parts.hpp"

using namespace heddle;

namespace bench {

namespace {

/// The queue one writes when there is none: a vector under a mutex, a thread that takes all of it at once
/// and runs it.
class PlainQueue {
public:
    PlainQueue() : thread_([this] { run(); }) {}
    PlainQueue(const PlainQueue&) = delete;
    PlainQueue& operator=(const PlainQueue&) = delete;
    ~PlainQueue() {
        push(nullptr);
        thread_.join();
    }

    /// Null ends the thread.
    void push(std::function<void()> work) {
        bool wake;
        {
            const std::lock_guard lock(mutex_);
            wake = pending_.empty();
            pending_.push_back(std::move(work));
            ++pushed_;
        }
        if (wake) ready_.notify_one();
    }

    void synchronize() {
        std::unique_lock lock(mutex_);
        idle_.wait(lock, [this] { return done_ == pushed_; });
    }

private:
    void run() {
        std::vector<std::function<void()>> batch;
        std::unique_lock lock(mutex_);
        for (;;) {
            ready_.wait(lock, [this] { return !pending_.empty(); });
            std::swap(batch, pending_);
            lock.unlock();
            for (const std::function<void()>& work : batch) {
                if (!work) return;
                work();
            }
            lock.lock();
            done_ += batch.size();
            batch.clear();
            if (done_ == pushed_) idle_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable ready_, idle_;
    std::vector<std::function<void()>> pending_;
    std::size_t pushed_ = 0, done_ = 0;
    std::thread thread_;
};

struct Empty {
    HEDDLE_FN void operator()(std::size_t) const {}
};

constexpr const char* plain = "a thread with a queue (mutex, condition variable)";

/// An int64 that closures of all sides add to, so that none of them is empty.
struct Counter {
    long value = 0;
};

void add_chains(Report& report, Device device) {
    Counter counter;
    // One call is one operation, given and run.
    const Batches batches{.calls = 1'000'000, .pairs = 9, .seconds = 3.0, .quick_calls = 20'000};
    const Stream s{device};
    const Side heddle{[&](int calls) {
        for (int i = 0; i < calls; ++i) launch_host(s, [&counter] { ++counter.value; });
        s.synchronize();
    }};
    const auto queue = std::make_shared<PlainQueue>();
    std::vector<Peer> peers;
    peers.push_back({plain, {[&, queue](int calls) {
                         for (int i = 0; i < calls; ++i) queue->push([&counter] { ++counter.value; });
                         queue->synchronize();
                     }}});
    for (Peer& peer : tbb_chains(counter.value)) peers.push_back(std::move(peer));
    for (const Peer& peer : peers)
        report.compare("chain of host functions, run to the end", device.name(), heddle, peer, batches);

    report.compare("chain of empty kernels, run to the end", device.name(), {[&](int calls) {
                       for (int i = 0; i < calls; ++i) launch(s, Empty{}, dim(1));
                       s.synchronize();
                   }},
                   peers.front(), batches);
    keep(counter);
}

void add_waits(Report& report, Device device) {
    const Stream a{device}, b{device};
    Counter counter;
    // One call: an operation and the wait that brings the other stream after it.
    report.compare("two streams in turn: launch_host, wait_stream, run to the end", device.name(),
                   {[&](int calls) {
                       for (int i = 0; i < calls; i += 2) {
                           launch_host(a, [&counter] { ++counter.value; });
                           b.wait_stream(a);
                           launch_host(b, [&counter] { ++counter.value; });
                           a.wait_stream(b);
                       }
                       a.synchronize();
                   }},
                   {}, {.calls = 100'000, .pairs = 9, .seconds = 3.0, .quick_calls = 2'000});

    const auto queue = std::make_shared<PlainQueue>();
    const Batches to_and_fro{.calls = 2'000, .pairs = 50, .seconds = 2.0, .quick_calls = 100};
    report.compare("launch_host and synchronize", device.name(), {repeat([&] {
                       launch_host(a, [&counter] { ++counter.value; });
                       a.synchronize();
                   })},
                   {plain, {repeat([&, queue] {
                        queue->push([&counter] { ++counter.value; });
                        queue->synchronize();
                    })}},
                   to_and_fro);
    // The caller looks, and so takes no part: what it costs to wake a worker that sleeps.
    report.compare("launch_host, seen done by a caller that polls", device.name(), {repeat([&] {
                       launch_host(a, [&counter] { ++counter.value; });
                       while (!a.is_complete()) std::this_thread::yield();
                   })},
                   {}, to_and_fro);
    keep(counter);
}

}  // namespace

Peers cpu_peers() {
    Peers peers;
    // One thread serves all rows; the last function lets go of it.
    const auto queue = std::make_shared<PlainQueue>();
    const auto settle = [queue] { queue->synchronize(); };
    const auto push = repeat([queue] { queue->push([] {}); });
    for (const char* name : {row::launch_empty, row::host_function}) peers[name] = {plain, {push, settle}};
    peers[row::launch_synchronize] = {plain,
                                      {repeat([queue] {
                                           queue->push([] {});
                                           queue->synchronize();
                                       }),
                                       settle}};
    const auto buffers = std::make_shared<std::vector<char>>(2 * small_bytes);
    const Side memory_copy{repeat([buffers] {
        std::memcpy(buffers->data(), buffers->data() + small_bytes, small_bytes);
        keep(*buffers->data());
    })};
    const Side memory_set{repeat([buffers] {
        std::memset(buffers->data(), 1, small_bytes);
        keep(*buffers->data());
    })};
    for (const char* name : {row::copy_to_device, row::copy_to_host, row::copy_on_device})
        peers[name] = {"memcpy, at once", memory_copy};
    for (const char* name : {row::fill_float, row::fill_zero}) peers[name] = {"memset, at once", memory_set};
    const auto allocate = [](std::size_t bytes) {
        return Side{repeat([bytes] {
            void* data = std::aligned_alloc(64, bytes);
            keep(data);
            std::free(data);
        })};
    };
    peers[row::array_small] = {"aligned_alloc, free", allocate(small_bytes)};
    peers[row::array_large] = {"aligned_alloc, free", allocate(1 << 20)};
    return peers;
}

void add_cpu_rows(Report& report, Device device) {
    report.attempt("chains", [&] { add_chains(report, device); });
    report.attempt("waits", [&] { add_waits(report, device); });
}

}  // namespace bench
