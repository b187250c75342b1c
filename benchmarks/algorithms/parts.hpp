// The parts of bench_algorithms: the same jobs by heddle, by parallel algorithms of the host, and
// by CUB.
#pragma once

#include <span>
#include <vector>

#include <heddle/heddle.hpp>

#include "measure.hpp"

namespace bench {

/// A computation from numbers. `sort_by_function` orders them by a function of the program.
enum class Job { sort, sort_by_function, reduce, scan };

/// Memory of a device: the numbers, and as many results. Sorts restore the numbers first, which is
/// not timed.
struct DeviceNumbers {
    heddle::StreamRef stream;
    heddle::View<const float> in;
    heddle::View<float> out;
};
/// The same in memory of the host.
struct HostNumbers {
    std::span<const float> in;
    std::span<float> out;
};

/// heddle's side on a CPU device.
Side algorithm_on_cpu(Job job, const DeviceNumbers& numbers);
/// heddle's side on a GPU, and CUB called by hand. Both are empty without CUDA.
Side algorithm_on_gpu(Job job, const DeviceNumbers& numbers);
Side algorithm_by_cub(Job job, const DeviceNumbers& numbers);
/// Other libraries' algorithms for the host: oneTBB, and the standard's parallel ones. Empty if
/// they are not found.
std::vector<Peer> host_algorithms(Job job, const HostNumbers& numbers);

}  // namespace bench
