// The rate of hashing 4096-byte blocks, in GB/s (10^9 bytes). Compares each code path for a CPU
// thread with the portable path. If compiled as CUDA, also measures the device: for chunks of 4 to
// 64 MiB, thread blocks of 32 to 1024 threads, and 1 to 3 streams with one chunk each.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../src/tool/sha256.hpp"
#include "report.hpp"

using namespace heddle::tool;

namespace {

std::vector<std::uint8_t> some_bytes(std::size_t count) {
    std::vector<std::uint8_t> bytes(count);
    std::independent_bits_engine<std::mt19937_64, 8, std::uint64_t> random;
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    return bytes;
}

const char* to_string(Sha256Path path) {
    switch (path) {
    case Sha256Path::portable: return "portable";
    case Sha256Path::lanes8: return "8 lanes";
    case Sha256Path::lanes16: return "16 lanes";
    case Sha256Path::instructions: return "SHA instructions";
    }
    return "";
}

/// One call hashes all blocks, `group` blocks at a time. 0 means all blocks at once.
bench::Side hashing(Sha256Path path, const std::vector<std::uint8_t>& data,
                    std::vector<std::uint8_t>& digests, std::size_t group) {
    const std::size_t count = data.size() / sha256_block_bytes;
    const std::size_t step = group == 0 ? count : group;
    return {bench::repeat([path, &data, &digests, count, step] {
        for (std::size_t i = 0; i < count; i += step)
            sha256_blocks_by(path, data.data() + i * sha256_block_bytes, std::min(step, count - i),
                             digests.data() + i * sha256_bytes);
    })};
}

void measure_cpu(bench::Report& report, std::size_t mib) {
    const std::vector<std::uint8_t> data = some_bytes(mib << 20);
    std::vector<std::uint8_t> digests(data.size() / sha256_block_bytes * sha256_bytes);
    struct Group {
        std::size_t blocks;
        const char* name;
    };
    // 16 is the smallest group that a kernel on a CPU device receives.
    for (const Group group : {Group{1, "singly"}, Group{16, "by 16"}, Group{0, "in a run"}})
        for (const Sha256Path path : sha256_paths) {
            if (!sha256_has_path(path)) continue;
            const bench::Peer portable{"the portable path, in a run",
                                       hashing(Sha256Path::portable, data, digests, 0)};
            report.compare(
                std::string("SHA-256, one thread, ") + to_string(path) + ", blocks " + group.name +
                    " of " + std::to_string(mib) + " MiB",
                "cpu:0", hashing(path, data, digests, group.blocks),
                path == Sha256Path::portable ? bench::Peer{} : portable,
                {.calls = mib < 8 ? 4 : 1, .pairs = 50, .seconds = 1.0, .quick_calls = 1},
                bench::in_gb_per_s(static_cast<double>(data.size())));
        }
}

#ifdef __CUDACC__

__global__ void hash_blocks(const std::uint8_t* data, std::size_t count, std::uint8_t* digests) {
    sha256_block_group(blockIdx.x * std::size_t{blockDim.x} + threadIdx.x, 1, data, count, digests);
}

void check(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

void measure_device(bench::Report& report) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("no CUDA device\n");
        return;
    }
    constexpr std::size_t most_streams = 3;
    const std::size_t most_blocks = (report.quick() ? 4 : 64) * 256;
    // This memory is kept until the process ends.
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
    check(cudaDeviceSynchronize());
    for (std::size_t mib = 4; mib * 256 <= most_blocks; mib *= 2) {
        const std::size_t count = mib * 256;
        for (unsigned threads = 32; threads <= 1024; threads *= 2) {
            for (std::size_t used = 1; used <= most_streams; ++used) {
                const bench::Side side{[&, used, threads, count](int calls) {
                    for (int call = 0; call < calls; ++call)
                        for (std::size_t s = 0; s < used; ++s) {
                            hash_blocks<<<static_cast<unsigned>((count + threads - 1) / threads),
                                          threads, 0, streams[s]>>>(data[s], count, digests[s]);
                            check(cudaGetLastError());
                        }
                    check(cudaDeviceSynchronize());
                }};
                report.compare(
                    "SHA-256, blocks of " + std::to_string(mib) + " MiB, " +
                        std::to_string(threads) + " threads a block, " + std::to_string(used) +
                        (used == 1 ? " stream" : " streams"),
                    "cuda:0", side, {},
                    {.calls = 10, .pairs = 20, .seconds = 0.1, .quick_calls = 1},
                    bench::in_gb_per_s(static_cast<double>(used * count * sha256_block_bytes)));
            }
        }
    }
    hash_blocks<<<static_cast<unsigned>((most_blocks + 255) / 256), 256>>>(data[0], most_blocks,
                                                                           digests[0]);
    check(cudaGetLastError());
    std::vector<std::uint8_t> theirs(most_blocks * sha256_bytes);
    std::vector<std::uint8_t> ours(theirs.size());
    check(cudaMemcpy(theirs.data(), digests[0], theirs.size(), cudaMemcpyDeviceToHost));
    sha256_blocks4096(source.data(), most_blocks, ours.data());
    if (ours != theirs) throw std::runtime_error("device and CPU digests differ");
}

#endif

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_sha256_rates", argc, argv);
    const std::string& device = report.device();
    if (device.empty() || device.rfind("cpu", 0) == 0)
        for (const std::size_t mib : {std::size_t{1}, std::size_t{64}})
            if (mib == 1 || !report.quick())
                report.attempt("CPU", [&] { measure_cpu(report, mib); });
#ifdef __CUDACC__
    if (device.empty() || device.rfind("cuda", 0) == 0)
        report.attempt("CUDA", [&] { measure_device(report); });
#endif
    return report.finish();
}
