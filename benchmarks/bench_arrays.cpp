// The time that the calling thread needs to make and free arrays, compared with code without
// heddle. That uses the driver's pool on CUDA devices, and aligned_alloc() and free() on CPU
// devices. Rows: the same size repeatedly, the recorded sequence of a training step, mixed sizes,
// two streams, eight threads, and scarce memory. Also compares how much memory heddle and the
// driver's pool allocate.

#include <cstdlib>
#include <memory>
#include <vector>

#include <heddle/heddle.hpp>

#include "arrays/parts.hpp"
#include "arrays/replay.hpp"
#include "devices.hpp"

using namespace heddle;

namespace {

/// Implements the replay's Memory interface with heddle::Array.
class Arrays {
public:
    using Buffer = Array<std::byte>;

    explicit Arrays(Device device) : device_(device) {
        for (int i = 0; i < 8; ++i) streams_.emplace_back(device);
    }
    Buffer make(std::size_t bytes, int stream) { return empty<std::byte>(of(stream), bytes); }
    void free(Buffer& buffer, int) { buffer.reset(); }
    void use(Buffer& buffer, int stream) { fill(of(stream), buffer, std::byte{1}); }
    void wait(int waiter, int other) { of(waiter).wait_stream(of(other)); }
    void enter() {}
    void finish() { synchronize_device(device_); }

private:
    StreamRef of(int stream) { return streams_[static_cast<std::size_t>(stream)]; }
    Device device_;
    std::vector<Stream> streams_;
};

/// Implements the Memory interface with aligned_alloc() and free(), for CPU devices. Memory is
/// freed immediately, possibly before the streams run, so the streams fill other memory instead.
class HostMemory {
public:
    using Buffer = void*;

    explicit HostMemory(Device device) : work_(device) {
        for (int i = 0; i < 8; ++i) used_.push_back(work_.make(4096, i));
    }
    void* make(std::size_t bytes, int) {
        void* const data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
        bench::keep(data);
        return data;
    }
    void free(void*& buffer, int) { std::free(buffer); }
    void use(void*, int stream) { work_.use(used_[static_cast<std::size_t>(stream)], stream); }
    void wait(int waiter, int other) { work_.wait(waiter, other); }
    void enter() {}
    void finish() { work_.finish(); }

private:
    Arrays work_;
    std::vector<Array<std::byte>> used_;
};

constexpr bench::Batches each{.calls = 200, .pairs = 2000, .seconds = 1.0};
/// Has so many calls that the time to wake the threads is small compared with their work.
constexpr bench::Batches by_team{.calls = 4000, .pairs = 200, .seconds = 1.0, .quick_calls = 200};
constexpr bench::Batches enqueuing{.calls = 100, .pairs = 2000, .seconds = 1.0};
constexpr bench::Batches whole{.calls = 4, .pairs = 1000, .seconds = 2.0, .quick_calls = 1};
constexpr bench::Batches short_of_memory{
    .calls = 2, .pairs = 100, .seconds = 4.0, .quick_calls = 1};

class Rows {
public:
    Rows(bench::Report& report, Device device)
        : report_(report), device_(device), arrays_(std::make_shared<Arrays>(device)),
          ours_(bench::sides_of(arrays_, "heddle")),
          theirs_(device.is_cuda() ? bench::cuda_pool(device)
                                   : bench::sides_of(std::make_shared<HostMemory>(device),
                                                     "aligned_alloc, free")) {}

    void add_all() {
        for (const char* name : {bench::row::same_4k, bench::row::same_1m, bench::row::same_64m})
            add(name, each);
        add(bench::row::used, enqueuing);
        add(bench::row::training, whole, bench::in_us);
        add(bench::row::mixed, whole, bench::in_us);
        add(bench::row::exchange, enqueuing);
        add(bench::row::threads, by_team);
        if (device_.is_cuda()) report_.attempt(bench::row::pressure, [this] { add_pressure(); });
    }

private:
    void add(const char* name, const bench::Batches& batches, bench::Unit unit = bench::in_ns) {
        if (report_.wants(name))
            report_.compare(name, device_.name(), ours_[name].side, theirs_[name], batches, unit);
    }

    /// heddle and its peer both begin without cached memory, so both allocate from the device in
    /// each batch.
    void add_pressure() {
        const std::size_t peak = bench::peak_of(bench::training_step());
        ours_[bench::row::pressure] = ours_[bench::row::training];
        ours_[bench::row::pressure].side.finish = [this] {
            arrays_->finish();
            trim_pool(device_);
        };
        for (const auto* side : {&ours_, &theirs_}) side->at(bench::row::pressure).side.finish();
        const auto ballast = bench::leave_free(device_, peak + peak / 20);
        reset_peak_memory_stats(device_);
        bench::cuda_pool_high(device_);
        add(bench::row::pressure, short_of_memory, bench::in_us);
        const auto megabytes = [](std::size_t bytes) { return static_cast<double>(bytes) * 1e-6; };
        const double had = megabytes(memory_stats(device_).reserved_peak);
        const double theirs = megabytes(bench::cuda_pool_high(device_));
        report_.add({.name = "memory for that",
                     .device = device_.name(),
                     .heddle = had,
                     .raw = theirs,
                     .unit = "MB",
                     .ratio = had / theirs,
                     .peer = "cudaMallocFromPoolAsync, cudaFreeAsync"});
    }

    bench::Report& report_;
    Device device_;
    std::shared_ptr<Arrays> arrays_;
    bench::Peers ours_, theirs_;
};

/// Adds a row for a training step: how much memory is allocated, and how much of it is in use at
/// the peak.
void add_memory(bench::Report& report, Device device) {
    const char* const name = "memory had for a training step, and used by it";
    if (!report.wants(name)) return;
    trim_pool(device);
    synchronize_device(device);
    reset_peak_memory_stats(device);
    const std::size_t before = memory_stats(device).reserved;
    {
        bench::Replay<Arrays> step(std::make_shared<Arrays>(device), bench::training_step());
        for (int i = 0; i < 3; ++i) step();
    }
    const auto megabytes = [](std::size_t bytes) { return static_cast<double>(bytes) * 1e-6; };
    const double had = megabytes(memory_stats(device).reserved_peak - before);
    const double used = megabytes(bench::peak_of(bench::training_step()));
    report.add({.name = name,
                .device = device.name(),
                .heddle = had,
                .raw = used,
                .unit = "MB",
                .ratio = had / used,
                .peer = "in use at once"});
}

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_arrays", argc, argv);
    for (const Device device : bench::chosen_devices(report)) {
        report.attempt(device.name(), [&] {
            const ScopedDevice on{device};
            add_memory(report, device);
            Rows(report, device).add_all();
        });
    }
    return report.finish();
}
