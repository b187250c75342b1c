// Measures one way to do something beside another, in one process: batches of the two
// alternate, so that disturbances of the machine affect both. Nothing here uses heddle.
//
// A row's two figures are medians over all batches; its ratio is the median of the ratios of
// neighbouring batches, with the 10th and 90th percentile of those as its spread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

inline constexpr double nothing =
    std::numeric_limits<double>::quiet_NaN();  ///< printed as "-", null in JSON

/// Returns the time of a monotonic clock, in ns.
inline std::int64_t now_ns() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

/// Keeps the compiler from leaving out the computation of `value`.
template <class T> void keep(const T& value) { asm volatile("" : : "r"(&value) : "memory"); }

/// Returns the value below which the share `p` of `values` lies, or `nothing` if there are none.
inline double percentile(std::vector<double> values, double p) {
    if (values.empty()) return nothing;
    std::sort(values.begin(), values.end());
    const double at = p * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (values[above] - values[below]) * (at - static_cast<double>(below));
}
inline double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

/// One of the two ways. Only `run` is timed; it makes `calls` calls. `prepare` runs before each
/// batch and `settle` after it: a settle that waits for the device prevents a launch queue
/// (about 1000 entries on a GPU) from ever being full.
struct Side {
    std::function<void(int calls)> run;
    std::function<void()> settle = {};
    std::function<void()> prepare = {};
};

/// Returns a Side's run that repeats `call()` or `call(i)`, i from 0.
template <class F> std::function<void(int)> repeat(F call) {
    return [call = std::move(call)](int calls) mutable {
        for (int i = 0; i < calls; ++i) {
            if constexpr (std::is_invocable_v<F&, int>) call(i);
            else call();
        }
    };
}

/// The way that heddle is compared with, and its name. An empty side: none.
struct Peer {
    std::string name;
    Side side;
};
/// Peers by the name of the row they belong to.
using Peers = std::map<std::string, Peer>;

/// How to convert a time to a figure.
struct Unit {
    std::string name = "ns";
    double of_second = 1e9;  ///< figure = seconds of one call * of_second
    double amount =
        0;  ///< other than 0: figure = amount / seconds of one call (rates: more is better)
    double figure(double seconds) const {
        return amount != 0 ? amount / seconds : seconds * of_second;
    }
};
inline const Unit in_ns{"ns", 1e9, 0};
inline const Unit in_us{"µs", 1e6, 0};
inline const Unit in_ms{"ms", 1e3, 0};
/// Of calls that move `bytes` each; GB are 10^9 bytes.
inline Unit in_gb_per_s(double bytes) { return {"GB/s", 0, bytes * 1e-9}; }

struct Batches {
    int calls = 100;   ///< in a batch
    int pairs = 1000;  ///< of batches, if there is time
    double seconds =
        1.0;  ///< after which no pair is begun (--quick: 0.05), but for the first 5 (--quick: 2)
    int quick_calls = 0;  ///< instead of `calls` with --quick; 0: the same
};

struct Result {
    std::string name = {}, device = {};
    double heddle = nothing, raw = nothing;
    std::string unit = {};
    double ratio = nothing, ratio_p10 = nothing, ratio_p90 = nothing;  ///< heddle / raw
    std::string peer = {};                                             ///< the name of `raw`
};

/// Returns a row of figures measured in pairs.
inline Result of_pairs(const std::string& name, const std::string& device,
                       const std::vector<double>& ours, const std::vector<double>& theirs,
                       const std::string& unit, const std::string& peer) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / theirs[i]);
    return {.name = name,
            .device = device,
            .heddle = median(ours),
            .raw = median(theirs),
            .unit = unit,
            .ratio = median(ratios),
            .ratio_p10 = percentile(ratios, 0.1),
            .ratio_p90 = percentile(ratios, 0.9),
            .peer = peer};
}

namespace detail {
/// Returns the seconds of one call, of a batch of `calls`.
inline double seconds_of(const Side& side, int calls) {
    if (side.prepare) side.prepare();
    const std::int64_t begin = now_ns();
    side.run(calls);
    const std::int64_t end = now_ns();
    if (side.settle) side.settle();
    return static_cast<double>(end - begin) * 1e-9 / calls;
}

}  // namespace detail

/// Runs both sides in turn, batch by batch. `quick`: a few short ones.
inline Result measure(const std::string& name, const std::string& device, const Side& heddle,
                      const Peer& peer, const Batches& batches, const Unit& unit, bool quick) {
    const bool paired = static_cast<bool>(peer.side.run);
    const int calls = quick && batches.quick_calls != 0 ? batches.quick_calls : batches.calls;
    const std::size_t least = quick ? 2 : 5;
    const std::size_t most = std::max<std::size_t>(least, static_cast<std::size_t>(batches.pairs));
    const double budget_s = quick ? 0.05 : batches.seconds;
    for (int warm = 0; warm < 2; ++warm) {
        detail::seconds_of(heddle, calls);
        if (paired) detail::seconds_of(peer.side, calls);
    }
    std::vector<double> ours, theirs;
    const std::int64_t begin = now_ns();
    while (ours.size() < most &&
           (ours.size() < least || static_cast<double>(now_ns() - begin) * 1e-9 < budget_s)) {
        const bool first = ours.size() % 2 == 0;  // the order alternates
        double raw = 0;
        if (paired && !first) raw = unit.figure(detail::seconds_of(peer.side, calls));
        const double own = unit.figure(detail::seconds_of(heddle, calls));
        if (paired && first) raw = unit.figure(detail::seconds_of(peer.side, calls));
        ours.push_back(own);
        if (paired) theirs.push_back(raw);
    }
    return paired
               ? of_pairs(name, device, ours, theirs, unit.name, peer.name)
               : Result{.name = name, .device = device, .heddle = median(ours), .unit = unit.name};
}

}  // namespace bench
