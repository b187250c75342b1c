// bench_concurrency on CUDA devices: implements the rows by raw CUDA calls.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "concurrency/parts.hpp"
#include "raw_cuda.cuh"
#include "spin.hpp"

namespace bench {

namespace {

__global__ void spin_kernel(std::uint64_t ns) { spin_for(ns); }
__global__ void empty_kernel(std::size_t) {}

/// Streams, each with an event. All other streams are forked from the first one.
struct Streams {
    std::vector<cudaStream_t> streams;
    std::vector<cudaEvent_t> events;
    explicit Streams(std::size_t count) : streams(count), events(count) {
        for (cudaStream_t& stream : streams)
            ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        for (cudaEvent_t& event : events)
            ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;
    ~Streams() {
        for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
        for (cudaEvent_t event : events) cudaEventDestroy(event);
    }
};

void CUDART_CB count_one(void* counter) { static_cast<std::atomic<long>*>(counter)->fetch_add(1); }

}  // namespace

Peer raw_fork_join(heddle::Device device, int streams, int kernels, std::uint64_t ns) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto launch_some = [=](cudaStream_t stream, int count) {
        for (int i = 0; i < count; ++i) {
            spin_kernel<<<1, 32, 0, stream>>>(ns);
            ok(cudaGetLastError());
        }
    };
    const auto all =
        std::make_shared<Streams>(streams == 1 ? 1 : static_cast<std::size_t>(streams) + 1);
    const cudaStream_t base = all->streams[0];
    if (streams == 1)
        return {"one stream, by hand", {repeat([=] {
                    launch_some(base, kernels);
                    ok(cudaStreamSynchronize(all->streams[0]));
                })}};
    return {"the same by hand", {repeat([=] {
                ok(cudaEventRecord(all->events[0], base));
                for (std::size_t i = 1; i < all->streams.size(); ++i) {
                    ok(cudaStreamWaitEvent(all->streams[i], all->events[0], 0));
                    launch_some(all->streams[i], kernels / streams);
                    ok(cudaEventRecord(all->events[i], all->streams[i]));
                }
                for (std::size_t i = 1; i < all->streams.size(); ++i)
                    ok(cudaStreamWaitEvent(base, all->events[i], 0));
                ok(cudaStreamSynchronize(base));
            })}};
}

Peer raw_dealt(heddle::Device device, int streams, int kernels, std::uint64_t ns) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto all = std::make_shared<Streams>(static_cast<std::size_t>(streams) + 1);
    const cudaStream_t base = all->streams[0];
    return {"the same by hand", {repeat([=] {
                const std::size_t count = all->streams.size() - 1;
                ok(cudaEventRecord(all->events[0], base));
                for (std::size_t i = 1; i <= count; ++i)
                    ok(cudaStreamWaitEvent(all->streams[i], all->events[0], 0));
                for (std::size_t i = 0; i < static_cast<std::size_t>(kernels); ++i) {
                    spin_kernel<<<1, 32, 0, all->streams[1 + i % count]>>>(ns);
                    ok(cudaGetLastError());
                }
                for (std::size_t i = 1; i <= count; ++i) {
                    ok(cudaEventRecord(all->events[i], all->streams[i]));
                    ok(cudaStreamWaitEvent(base, all->events[i], 0));
                }
                ok(cudaStreamSynchronize(base));
            })}};
}

Peer raw_throughput(heddle::Device device, const std::shared_ptr<Team>& team, int streams) {
    if (!device.is_cuda()) return {};
    const int index_of_device = device.index();
    ok(cudaSetDevice(index_of_device));
    const auto all = std::make_shared<Streams>(static_cast<std::size_t>(streams));
    const std::string name = "<<<>>> of an equal kernel";
    return {name,
            {.run =
                 [=](int calls) {
                     team->run([&](std::ptrdiff_t index, std::ptrdiff_t) {
                         // A new thread's current device is 0. Setting the device in each batch
                         // costs only 60 ns.
                         ok(cudaSetDevice(index_of_device));
                         const cudaStream_t stream =
                             all->streams[static_cast<std::size_t>(index) % all->streams.size()];
                         for (int i = 0; i < calls; ++i) {
                             empty_kernel<<<1, 32, 0, stream>>>(1);
                             ok(cudaGetLastError());
                         }
                     });
                 },
             .finish =
                 [=] {
                     for (const cudaStream_t stream : all->streams)
                         ok(cudaStreamSynchronize(stream));
                 }}};
}

std::function<double()> raw_urgent(heddle::Device device, std::uint64_t ns) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    struct Pair {
        cudaStream_t bulk = nullptr, urgent = nullptr;
        Pair() {
            int least = 0, greatest = 0;
            ok(cudaDeviceGetStreamPriorityRange(&least, &greatest));
            ok(cudaStreamCreateWithPriority(&bulk, cudaStreamNonBlocking, least));
            ok(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
        }
        ~Pair() {
            cudaStreamDestroy(bulk);
            cudaStreamDestroy(urgent);
        }
        Pair(const Pair&) = delete;
        Pair& operator=(const Pair&) = delete;
    };
    const auto pair = std::make_shared<Pair>();
    // In blocks of 256 threads, as heddle chooses.
    const auto blocks = static_cast<unsigned>(flood_threads(device, ns) / 256);
    return [pair, blocks, ns] {
        for (int i = 0; i < flood_kernels; ++i) {
            spin_kernel<<<blocks, 256, 0, pair->bulk>>>(ns);
            ok(cudaGetLastError());
        }
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        const std::int64_t begin = now_ns();
        spin_kernel<<<1, 32, 0, pair->urgent>>>(0);
        ok(cudaGetLastError());
        ok(cudaStreamSynchronize(pair->urgent));
        const double us = static_cast<double>(now_ns() - begin) * 1e-3;
        ok(cudaStreamSynchronize(pair->bulk));
        return us;
    };
}

Peer raw_round_trips(heddle::Device device) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto one = std::make_shared<Streams>(1);
    const auto counter = std::make_shared<std::atomic<long>>(0);
    return {"kernel and cudaLaunchHostFunc in one stream", {[=](int calls) {
                for (int i = 0; i < calls; ++i) {
                    spin_kernel<<<1, 32, 0, one->streams[0]>>>(0);
                    ok(cudaGetLastError());
                    ok(cudaLaunchHostFunc(one->streams[0], count_one, counter.get()));
                }
                ok(cudaStreamSynchronize(one->streams[0]));
            }}};
}

}  // namespace bench
