// bench_two_devices: the same work by raw CUDA calls.
#include <memory>
#include <utility>

#include "raw_cuda.cuh"
#include "two_devices/grid.hpp"
#include "two_devices/parts.hpp"

namespace bench {

namespace {

__global__ void __launch_bounds__(256)
    relax_kernel(std::size_t count, const float* from, float* to) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) to[columns + i] = relaxed(from, i);
}
__global__ void __launch_bounds__(256)
    columns_kernel(std::size_t count, const float* before, const float* after, float* sums) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) sums[i] = change_of_column(before, after, i);
}
__global__ void __launch_bounds__(256)
    norm_kernel(std::size_t count, const float* sums, float* norm) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) norm[i] = part_of_norm(sums, i);
}

int made_current(heddle::Device device) {
    ok(cudaSetDevice(device.index()));
    return device.index();
}

/// The strip of one device. The device must be current when its kernels are launched.
struct RawStrip {
    int device;
    Raw raw{};
    float *grid[2] = {}, *sums = nullptr, *norm = nullptr;

    Grid of_points, of_columns, of_parts;

    explicit RawStrip(heddle::Device on)
        : device(made_current(on)), of_points(grid_of(strip_points, on.info().processors)),
          of_columns(grid_of(columns, on.info().processors)),
          of_parts(grid_of(norm_parts, on.info().processors)) {
        for (float** memory : {&grid[0], &grid[1]}) allocate(*memory, grid_points);
        allocate(sums, columns);
        allocate(norm, norm_parts);
        ok(cudaDeviceSynchronize());
    }
    RawStrip(const RawStrip&) = delete;
    RawStrip& operator=(const RawStrip&) = delete;
    ~RawStrip() {
        for (float* memory : {grid[0], grid[1], sums, norm}) cudaFree(memory);
    }

    void relax(int now) {
        relax_kernel<<<of_points.blocks, of_points.threads, 0, raw.a>>>(strip_points, grid[now],
                                                                        grid[1 - now]);
        ok(cudaGetLastError());
    }
    void add_norm(int now) {
        columns_kernel<<<of_columns.blocks, of_columns.threads, 0, raw.a>>>(columns, grid[now],
                                                                            grid[1 - now], sums);
        ok(cudaGetLastError());
        norm_kernel<<<of_parts.blocks, of_parts.threads, 0, raw.a>>>(norm_parts, sums, norm);
        ok(cudaGetLastError());
    }

private:
    static void allocate(float*& memory, std::size_t count) {
        ok(cudaMalloc(&memory, count * sizeof(float)));
        ok(cudaMemset(memory, 0, count * sizeof(float)));
    }
};

/// Lets `on` wait for all work that is now in the stream of `of`.
void wait_for(cudaStream_t on, const RawStrip& of, cudaEvent_t event) {
    ok(cudaEventRecord(event, of.raw.a));
    ok(cudaStreamWaitEvent(on, event, 0));
}

/// The strips of both devices.
class RawStrips {
public:
    RawStrips(heddle::Device first, heddle::Device second) : second_(second), first_(first) {
        // Without access, copies are staged.
        (void)enable_access(first_.device, second_.device);
        ok(cudaSetDevice(second_.device));
        (void)enable_access(second_.device, first_.device);
        ok(cudaSetDevice(first_.device));
    }

    void launch_on_second() {
        ok(cudaSetDevice(second_.device));
        second_.relax(0);
        ok(cudaSetDevice(first_.device));
    }
    void wait_in_turn(int calls) {
        for (int i = 0; i < calls; i += 2) {
            wait_for(first_.raw.a, second_, second_.raw.of_a);
            wait_for(second_.raw.a, first_, first_.raw.of_a);
        }
    }
    void copy_halo() { send(first_, second_, 0, false); }
    void add_norm() { first_.add_norm(0); }

    void two_steps(bool captured) {
        for (const int now : {0, 1}) {
            advance(first_, second_, now, captured);
            advance(second_, first_, now, captured);
            ok(cudaStreamWaitEvent(first_.raw.a, second_.raw.of_a, 0));
            ok(cudaStreamWaitEvent(second_.raw.a, first_.raw.of_a, 0));
        }
    }
    void capture() {
        graph_ = std::make_unique<RawGraph>(first_.raw.a, [this] {
            wait_for(second_.raw.a, first_, first_.raw.of_b);
            two_steps(true);
            wait_for(first_.raw.a, second_, second_.raw.of_b);
        });
        return_to_first();
    }
    void launch_graph() { graph_->launch(first_.raw.a); }

    /// Makes the first device current, as it was before the steps.
    void return_to_first() { ok(cudaSetDevice(first_.device)); }

    void synchronize_first() { ok(cudaStreamSynchronize(first_.raw.a)); }
    void synchronize() {
        synchronize_first();
        ok(cudaStreamSynchronize(second_.raw.a));
    }

private:
    /// Copies a row next to the other strip into that strip's halo.
    void send(const RawStrip& from, const RawStrip& to, int grid, bool captured) {
        const bool downwards = &from == &first_;
        const float* const row = from.grid[grid] + (downwards ? rows : 1) * columns;
        float* const halo = to.grid[grid] + (downwards ? 0 : rows + 1) * columns;
        constexpr std::size_t bytes = columns * sizeof(float);
        // Copy nodes are ordinary copies, as in heddle's graphs.
        if (captured) ok(cudaMemcpyAsync(halo, row, bytes, cudaMemcpyDefault, from.raw.a));
        else ok(cudaMemcpyPeerAsync(halo, to.device, row, from.device, bytes, from.raw.a));
    }
    void advance(RawStrip& strip, RawStrip& other, int now, bool captured) {
        ok(cudaSetDevice(strip.device));
        strip.relax(now);
        send(strip, other, 1 - now, captured);
        ok(cudaEventRecord(strip.raw.of_a, strip.raw.a));
        strip.add_norm(now);
    }

    RawStrip second_, first_;  // in this order: the first device is current afterwards
    std::unique_ptr<RawGraph> graph_;
};

/// Returns a peer whose batches run(calls), and then finish() if `to_the_end` is true.
template <class Run, class Finish>
Peer peer_of(const char* name, const std::shared_ptr<RawStrips>& strips, bool to_the_end, Run run,
             Finish finish) {
    return {name,
            {[=](int calls) {
                 run(calls);
                 if (to_the_end) finish();
             },
             [=] {
                 strips->synchronize();
                 strips->return_to_first();
             }}};
}

}  // namespace

Peer raw_part(Part part, heddle::Device first, heddle::Device second, bool to_the_end) {
    if (!first.is_cuda()) return {};
    const auto strips = std::make_shared<RawStrips>(first, second);
    const auto peer = [&](const char* name, auto run) {
        return peer_of(name, strips, to_the_end, std::move(run), [=] { strips->synchronize(); });
    };
    switch (part) {
    case Part::launch:
        return peer("cudaSetDevice, <<<>>>, cudaSetDevice",
                    repeat([=] { strips->launch_on_second(); }));
    case Part::wait:
        return peer("cudaEventRecord, cudaStreamWaitEvent",
                    [=](int calls) { strips->wait_in_turn(calls); });
    case Part::halo: return peer("cudaMemcpyPeerAsync", repeat([=] { strips->copy_halo(); }));
    case Part::norm: return peer("<<<>>> of equal kernels", repeat([=] { strips->add_norm(); }));
    }
    return {};
}

Peer raw_steps(heddle::Device first, heddle::Device second, bool in_graph, bool to_the_end) {
    if (!first.is_cuda()) return {};
    const auto strips = std::make_shared<RawStrips>(first, second);
    if (!in_graph)
        return peer_of("launched by hand", strips, to_the_end,
                       repeat([=] { strips->two_steps(false); }), [=] { strips->synchronize(); });
    strips->capture();
    return peer_of("cudaGraphLaunch of the captured steps", strips, to_the_end,
                   repeat([=] { strips->launch_graph(); }), [=] { strips->synchronize_first(); });
}

}  // namespace bench
