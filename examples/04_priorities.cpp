// Priorities: short urgent kernels during a flood of bulk work. A smaller number is more urgent. A
// running thread block on a GPU, or a running chunk of a kernel on a CPU, is not interrupted:
// urgent work starts when one of them ends. Usage: example_04_priorities [DEVICE]
#include <heddle/heddle.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "device_argument.hpp"

namespace hd = heddle;
using Clock = std::chrono::steady_clock;

struct Iterate {  // computes for some time on each element
    HEDDLE_FN void operator()(std::size_t i, int rounds, hd::View<unsigned> x) const {
        unsigned value = x[i];
        for (int r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u;
        x[i] = value;
    }
};

double us_between(Clock::time_point begin, Clock::time_point end) {
    return std::chrono::duration<double, std::micro>(end - begin).count();
}

/// Returns the time from the launch of a small kernel until it has completed, in µs.
double urgent_us(hd::StreamRef stream, hd::View<unsigned> small) {
    const Clock::time_point begin = Clock::now();
    hd::launch(stream, Iterate{}, hd::dim(small.size()), 1, small);
    if (stream.device().is_cuda()) {
        stream.synchronize();
        return us_between(begin, Clock::now());
    }
    // If this thread waited for a CPU stream, it would run the stream's work itself, and hide the
    // effect of priorities.
    Clock::time_point end;
    hd::launch_host(stream, [&end] { end = Clock::now(); });
    while (!stream.is_complete()) std::this_thread::sleep_for(std::chrono::microseconds(20));
    return us_between(begin, end);
}

/// Bulk work in pieces. Each piece occupies the whole device for about 2 ms. At any time, one piece
/// runs and another is pending.
class Flood {
public:
    Flood(hd::Device device)
        : stream_(device, {.priority = device.priorities().least, .name = "bulk"}), now_(device),
          next_(device) {
        const auto processors = static_cast<std::size_t>(device.info().processors);
        data_ =
            hd::full<unsigned>(stream_, processors * (device.is_cuda() ? 100 * 2048 : 1 << 14), 1);
        rounds_ = device.is_cuda() ? 1000 : 100;
        stream_.synchronize();
    }
    void begin() { begin_ = Clock::now(), done_ = 0, add(), add(); }
    /// Waits until the next piece begins, and enqueues another piece.
    void go_on() { now_.synchronize(), ++done_, add(); }
    /// Ends the flood. Returns the mean time of a piece, in ms.
    double end() {
        stream_.synchronize();
        return us_between(begin_, Clock::now()) / (done_ + 2) * 1e-3;
    }
    /// Returns whether every element was updated as often as requested.
    bool is_right() const {
        unsigned value = 1;
        for (int r = 0; r < rounds_ * pieces_; ++r) value = value * 1664525u + 1013904223u;
        const std::vector<unsigned> values = hd::to_host(data_);
        return std::all_of(values.begin(), values.end(), [=](unsigned v) { return v == value; });
    }

private:
    void add() {
        std::swap(now_, next_);
        hd::launch(stream_, Iterate{}, hd::dim(data_.size()), rounds_, data_);
        stream_.record_event(next_);
        ++pieces_;
    }
    hd::Stream stream_;
    hd::Event now_, next_;
    hd::Array<unsigned> data_;
    int rounds_ = 0, pieces_ = 0, done_ = 0;
    Clock::time_point begin_;
};

int main(int argc, char** argv) {
    constexpr int samples = 50;
    const hd::Device device = device_argument(argc, argv);
    const hd::PriorityRange range = device.priorities();
    const hd::Stream urgent{device, {.priority = range.greatest, .name = "urgent"}};
    const hd::Stream usual{device, {.priority = range.least, .name = "usual"}};
    hd::preload(device, Iterate{});  // else the first launch loads code, and waits for the flood
    hd::Array<unsigned> small = hd::full<unsigned>(urgent, 256, 1);
    urgent.synchronize();
    Flood flood(device);

    std::printf("%s: %d urgent kernels in each row\n%-32s %10s %10s %14s\n", device.name().c_str(),
                samples, "", "median us", "worst us", "bulk ms each");
    const auto row = [&](const char* name, hd::StreamRef stream, bool is_flooded) {
        std::vector<double> us;
        if (is_flooded) flood.begin();
        for (int i = 0; i < samples; ++i) {
            std::this_thread::sleep_for(std::chrono::microseconds(300));  // lets the flood begin
            us.push_back(urgent_us(stream, small));
            if (is_flooded) flood.go_on();
        }
        const double bulk_ms = is_flooded ? flood.end() : 0;
        std::sort(us.begin(), us.end());
        std::printf("%-20s priority %2d %10.1f %10.1f", name, stream.priority(), us[us.size() / 2],
                    us.back());
        if (is_flooded) std::printf(" %14.3f", bulk_ms);
        std::printf("\n");
    };
    row("idle", urgent, false);
    row("under load", urgent, true);
    row("under load", usual, true);
    flood.begin();
    for (int i = 0; i < samples; ++i) flood.go_on();
    std::printf("%-54s %14.3f\n", "no urgent kernels", flood.end());

    unsigned value = 1;
    for (int r = 0; r < 3 * samples; ++r) value = value * 1664525u + 1013904223u;
    const std::vector<unsigned> values = hd::to_host(small);
    const bool is_right =
        std::all_of(values.begin(), values.end(), [=](unsigned v) { return v == value; });
    return is_right && flood.is_right() ? 0 : 1;
}
