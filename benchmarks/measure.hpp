// Compares two ways to do the same work, in one process: with heddle, and with a peer. Batches of
// the two ways alternate, so that disturbances of the machine affect both. This header does not use
// heddle.
//
// The two figures of a row are medians over all batches. The row's ratio is the median of the
// ratios of adjacent batches. Its spread is the 10th and 90th percentile of these ratios.
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
    std::numeric_limits<double>::quiet_NaN();  ///< printed as "-", and as null in JSON

/// Returns the time of a monotonic clock, in ns.
inline std::int64_t now_ns() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

/// Prevents the compiler from removing the computation of `value`.
template <class T> void keep(const T& value) { asm volatile("" : : "r"(&value) : "memory"); }

/// Returns the value below which a share `p` of `values` lies. Returns `nothing` if there are none.
inline double percentile(std::vector<double> values, double p) {
    if (values.empty()) return nothing;
    std::sort(values.begin(), values.end());
    const double at = p * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (values[above] - values[below]) * (at - static_cast<double>(below));
}
inline double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

/// One of the two ways to do the work. Only `run` is timed; it makes `calls` calls. `prepare` runs
/// before each batch, and `finish` after it. If `finish` waits for the device, the launch queue
/// (about 1000 entries on a GPU) is never full.
struct Side {
    std::function<void(int calls)> run;
    std::function<void()> finish = {};
    std::function<void()> prepare = {};
};

/// Returns a `run` that calls `call()` or `call(i)` repeatedly. `i` begins at 0.
template <class F> std::function<void(int)> repeat(F call) {
    return [call = std::move(call)](int calls) mutable {
        for (int i = 0; i < calls; ++i) {
            if constexpr (std::is_invocable_v<F&, int>) call(i);
            else call();
        }
    };
}

/// A peer: the way with which heddle is compared, and its name. `side` is empty if there is no
/// peer.
struct Peer {
    std::string name;
    Side side;
};
/// Peers, by the names of the rows that they belong to.
using Peers = std::map<std::string, Peer>;

/// How a time is converted to the figure that is printed.
struct Unit {
    std::string name = "ns";
    double of_second = 1e9;  ///< if not 0: figure = of_second * seconds of one call
    double amount =
        0;  ///< if not 0: figure = amount / seconds of one call (a rate: more is better)
    double figure(double seconds) const {
        return amount != 0 ? amount / seconds : seconds * of_second;
    }
};
inline const Unit in_ns{"ns", 1e9, 0};
inline const Unit in_us{"µs", 1e6, 0};
inline const Unit in_ms{"ms", 1e3, 0};
/// The unit for calls that move `bytes` bytes each. A GB is 10^9 bytes.
inline Unit in_gb_per_s(double bytes) { return {"GB/s", 0, bytes * 1e-9}; }

struct Batches {
    int calls = 100;   ///< number of calls in a batch
    int pairs = 1000;  ///< number of batches of each way, if time allows
    double seconds =
        1.0;  ///< no pair begins after this time (--quick: 0.05), except the first 5 (--quick: 2)
    int quick_calls = 0;  ///< replaces `calls` with --quick, unless 0
};

struct Result {
    std::string name = {}, device = {};
    double heddle = nothing, raw = nothing;
    std::string unit = {};
    double ratio = nothing, ratio_p10 = nothing, ratio_p90 = nothing;  ///< time ratio: heddle / raw
    std::string peer = {};                                             ///< name of the peer
};

/// Returns a row for figures that were measured in pairs of batches.
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
/// Runs a batch of `calls` calls. Returns the seconds that one call took.
inline double seconds_of(const Side& side, int calls) {
    if (side.prepare) side.prepare();
    const std::int64_t begin = now_ns();
    side.run(calls);
    const std::int64_t end = now_ns();
    if (side.finish) side.finish();
    return static_cast<double>(end - begin) * 1e-9 / calls;
}

}  // namespace detail

/// Runs both ways in turn, batch by batch. With `quick`, runs only a few short batches.
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
        const bool first = ours.size() % 2 == 0;  // the two ways take turns to be first
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
