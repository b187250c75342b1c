#include "doctor_measure.kernel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include <heddle/heddle.hpp>

namespace heddle::tool {
namespace {

using Clock = std::chrono::steady_clock;
using Bytes = Array<unsigned char>;

constexpr int repetitions = 7;

struct Nothing {
    HEDDLE_FN void operator()(std::size_t) const {}
};

double microseconds(Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// A GPU copies as much in the time of some calls as a CPU in milliseconds.
std::size_t bytes_to_copy(Device device) {
    return static_cast<std::size_t>(device.is_cuda() ? 256 : 32) << 20;
}

/// Returns the median rate of copies on an otherwise idle stream, in GB/s.
template <class From, class To> double rate(const Stream& s, To& to, const From& from) {
    copy(s, to, from);  // the first one touches the memory
    s.synchronize();
    std::vector<double> rates;
    for (int i = 0; i < repetitions; ++i) {
        const Clock::time_point begin = Clock::now();
        copy(s, to, from);
        s.synchronize();
        rates.push_back(static_cast<double>(to.size()) / microseconds(Clock::now() - begin) / 1e3);
    }
    return median(std::move(rates));
}

void measure_copies(const Stream& s, Measured& measured) {
    const std::size_t size = bytes_to_copy(s.device());
    Bytes on_device = full<unsigned char>(s, size, 1);
    {
        Bytes staging = pinned<unsigned char>(size);
        std::fill(staging.begin(), staging.end(), static_cast<unsigned char>(2));
        measured.to_device = rate(s, on_device, staging);
        measured.to_host = rate(s, staging, on_device);
    }
    Bytes pages = pageable<unsigned char>(size);
    std::fill(pages.begin(), pages.end(), static_cast<unsigned char>(4));
    measured.pageable = rate(s, on_device, pages);
    Bytes other = full<unsigned char>(s, size, 3);
    measured.on_device = rate(s, other, on_device);
}

void measure_calls(const Stream& s, Measured& measured) {
    const Stream other(s.device());
    Event event(s.device());
    std::vector<double> launches, records, waits;
    constexpr int calls = 200;
    for (int i = 0; i < calls; ++i) {
        const Clock::time_point begin = Clock::now();
        launch(s, Nothing{}, dim(1));
        const Clock::time_point launched = Clock::now();
        event.record(s);
        const Clock::time_point recorded = Clock::now();
        other.wait_event(event);
        waits.push_back(microseconds(Clock::now() - recorded));
        records.push_back(microseconds(recorded - launched));
        launches.push_back(microseconds(launched - begin));
    }
    other.synchronize();
    s.synchronize();
    measured.launch_us = median(std::move(launches));
    measured.event_us = median(std::move(records));
    measured.wait_us = median(std::move(waits));
}

/// Measures the time from the end of a host function to the end of the host's wait for it. The wait
/// begins while the function runs, so that the host does not run the function itself.
double wake_up(const Stream& s) {
    constexpr std::chrono::microseconds long_enough(200);  // for the host to sleep
    std::vector<double> times;
    for (int i = 0; i < 20; ++i) {
        std::atomic<bool> is_running{false};
        Clock::time_point end;
        launch_host(s, [&] {
            is_running.store(true);
            const Clock::time_point begin = Clock::now();
            do end = Clock::now();
            while (end - begin < long_enough);
        });
        while (!is_running.load()) std::this_thread::yield();
        s.synchronize();
        times.push_back(microseconds(Clock::now() - end));
    }
    return median(std::move(times));
}

}  // namespace

Measured measure(Device device) {
    Measured measured;
    const Stream s(device, {.priority = 0, .name = "doctor"});
    measure_copies(s, measured);
    measure_calls(s, measured);
    measured.wake_up_us = wake_up(s);
    return measured;
}

double measure_copy(Device to, Device from) {
    const Stream s(to), at_source(from);
    const std::size_t size = bytes_to_copy(to);
    const Bytes source = full<unsigned char>(at_source, size, 1);
    Bytes target = full<unsigned char>(s, size, 2);
    at_source.synchronize();
    return rate(s, target, source);
}

}  // namespace heddle::tool
