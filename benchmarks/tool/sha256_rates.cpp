// How fast blocks of 4096 bytes are hashed, in GB/s (10^9 bytes): by one CPU thread on each of its paths;
// and, compiled as CUDA (nvcc -x cu), by the device, for chunks of 4 to 64 MiB and blocks of 32 to 1024
// threads. Each figure is the best of several runs over memory already touched. Usage: sha256_rates

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../../src/tool/sha256.hpp"

using namespace heddle::tool;

namespace {

template <class Work> double best_seconds(int runs, Work work) {
    double best = 1e9;
    for (int i = 0; i < runs; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work();
        best =
            std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

std::vector<std::uint8_t> some_bytes(std::size_t count) {
    std::vector<std::uint8_t> bytes(count);
    std::uint64_t x = 88172645463325252u;  // Marsaglia's xorshift
    for (std::uint8_t& byte : bytes) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        byte = static_cast<std::uint8_t>(x);
    }
    return bytes;
}

const char* name_of(Sha256Path path) {
    switch (path) {
    case Sha256Path::portable: return "portable";
    case Sha256Path::lanes8: return "8 lanes";
    case Sha256Path::lanes16: return "16 lanes";
    case Sha256Path::instructions: return "instructions";
    }
    return "";
}

void measure_cpu(Sha256Path path, const char* name, std::size_t mib) {
    const std::size_t count = mib * 256;
    const std::vector<std::uint8_t> data = some_bytes(count * sha256_block_bytes);
    std::vector<std::uint8_t> digests(count * sha256_bytes);
    const double singly = best_seconds(5, [&] {
        for (std::size_t i = 0; i < count; ++i)
            sha256_blocks_by(path, data.data() + i * sha256_block_bytes, 1,
                             digests.data() + i * sha256_bytes);
    });
    constexpr std::size_t group = 16;  // what a CPU device's kernel is given at least
    const double in_groups = best_seconds(5, [&] {
        for (std::size_t i = 0; i < count; i += group)
            sha256_blocks_by(path, data.data() + i * sha256_block_bytes, group,
                             digests.data() + i * sha256_bytes);
    });
    const double in_run =
        best_seconds(5, [&] { sha256_blocks_by(path, data.data(), count, digests.data()); });
    const double bytes = static_cast<double>(data.size());
    std::printf("%-14s %3zu MiB, one thread: singly %.3f, by 16 %.3f, in a run %.3f GB/s\n", name, mib,
                bytes / singly * 1e-9, bytes / in_groups * 1e-9, bytes / in_run * 1e-9);
}

#ifdef __CUDACC__

__global__ void hash_blocks(const std::uint8_t* data, std::size_t count, std::uint8_t* digests) {
    sha256_block_group(blockIdx.x * std::size_t{blockDim.x} + threadIdx.x, 1, data, count, digests);
}

void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
}

/// One kernel at a time, and two and three streams at once, each with a chunk of its own.
void measure_device() {
    constexpr std::size_t most_streams = 3;
    constexpr std::size_t most_blocks = 64 * 256;
    std::uint8_t* data[most_streams];
    std::uint8_t* digests[most_streams];
    cudaStream_t streams[most_streams];
    const std::vector<std::uint8_t> source = some_bytes(most_blocks * sha256_block_bytes);
    for (std::size_t s = 0; s < most_streams; ++s) {
        check(cudaMalloc(&data[s], source.size()));
        check(cudaMalloc(&digests[s], most_blocks * sha256_bytes));
        check(cudaMemcpy(data[s], source.data(), source.size(), cudaMemcpyHostToDevice));
        check(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
    }
    for (std::size_t mib = 4; mib <= 64; mib *= 2) {
        const std::size_t count = mib * 256;
        for (unsigned threads = 32; threads <= 1024; threads *= 2) {
            std::printf("device %2zu MiB, %4u threads a block:", mib, threads);
            for (std::size_t used = 1; used <= most_streams; ++used) {
                constexpr int rounds = 10;
                const double seconds =
                    best_seconds(
                        3,
                        [&] {
                            for (int round = 0; round < rounds; ++round)
                                for (std::size_t s = 0; s < used; ++s)
                                    hash_blocks<<<static_cast<unsigned>((count + threads - 1) / threads),
                                                  threads, 0, streams[s]>>>(data[s], count, digests[s]);
                            check(cudaDeviceSynchronize());
                        }) /
                    rounds;
                const double bytes = static_cast<double>(used * count * sha256_block_bytes);
                std::printf("  %zu stream%s %7.1f GB/s (%6.1f us)", used, used == 1 ? " " : "s",
                            bytes / seconds * 1e-9, seconds * 1e6);
            }
            std::printf("\n");
        }
    }
    std::vector<std::uint8_t> theirs(most_blocks * sha256_bytes);
    std::vector<std::uint8_t> ours(theirs.size());
    check(cudaMemcpy(theirs.data(), digests[0], theirs.size(), cudaMemcpyDeviceToHost));
    sha256_blocks4096(source.data(), most_blocks, ours.data());
    std::printf("device and CPU digests of %zu blocks %s\n", most_blocks,
                ours == theirs ? "agree" : "DIFFER");
    if (ours != theirs) std::exit(1);
}

#endif

}  // namespace

int main() {
    for (const std::size_t mib : {std::size_t{1}, std::size_t{64}})
        for (const Sha256Path path : sha256_paths)
            if (sha256_has_path(path)) measure_cpu(path, name_of(path), mib);
#ifdef __CUDACC__
    measure_device();
#endif
}
