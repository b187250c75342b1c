// Measuring one way of doing something beside another, in one process: batches of the two alternate, so
// that whatever disturbs the machine disturbs both. Nothing here knows heddle.
//
// A row's two figures are medians over all batches; its ratio is the median of the ratios of neighbouring
// batches, with the 10th and 90th percentile of those as its spread.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bench {

inline constexpr double nothing = std::numeric_limits<double>::quiet_NaN();  ///< printed as "-", null in JSON

/// Nanoseconds on a clock that never goes back.
inline std::int64_t now_ns() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

/// Keeps the compiler from leaving out the computation of `value`.
template <class T> void keep(const T& value) { asm volatile("" : : "r"(&value) : "memory"); }

/// The value below which the share `p` of `values` lies; `nothing` of none.
inline double percentile(std::vector<double> values, double p) {
    if (values.empty()) return nothing;
    std::sort(values.begin(), values.end());
    const double at = p * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (values[above] - values[below]) * (at - static_cast<double>(below));
}
inline double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

/// One of the two ways. Only `run` is timed; it makes `calls` calls. `prepare` comes before each batch and
/// `settle` after it: a settle that waits for the device is what keeps a launch queue (about 1000 entries
/// on a GPU) from ever being full.
struct Side {
    std::function<void(int calls)> run;
    std::function<void()> settle = {};
    std::function<void()> prepare = {};
};

/// A Side's run that repeats `call()` or `call(i)`, i from 0.
template <class F> std::function<void(int)> repeat(F call) {
    return [call = std::move(call)](int calls) mutable {
        for (int i = 0; i < calls; ++i) {
            if constexpr (std::is_invocable_v<F&, int>) call(i);
            else call();
        }
    };
}

/// What heddle is measured beside, and its name. An empty side: nothing.
struct Peer {
    std::string name;
    Side side;
};
/// Peers by the name of the row they belong to.
using Peers = std::map<std::string, Peer>;

/// How a time becomes a figure.
struct Unit {
    std::string name = "ns";
    double of_second = 1e9;  ///< figure = seconds of one call * of_second
    double amount = 0;       ///< other than 0: figure = amount / seconds of one call (rates: more is better)
    double figure(double seconds) const { return amount != 0 ? amount / seconds : seconds * of_second; }
};
inline const Unit in_ns{"ns", 1e9, 0};
inline const Unit in_us{"µs", 1e6, 0};
inline const Unit in_ms{"ms", 1e3, 0};
/// Of calls that move `bytes` each; GB are 10^9 bytes.
inline Unit in_gb_per_s(double bytes) { return {"GB/s", 0, bytes * 1e-9}; }

struct Batches {
    int calls = 100;       ///< in a batch
    int pairs = 1000;      ///< of batches, if there is time
    double seconds = 1.0;  ///< after which no pair is begun (--quick: 0.05), but for the first 5 (--quick: 2)
    int quick_calls = 0;   ///< instead of `calls` with --quick; 0: the same
};

struct Result {
    std::string name, device;
    double heddle = nothing, raw = nothing;
    std::string unit;
    double ratio = nothing, ratio_p10 = nothing, ratio_p90 = nothing;  ///< heddle / raw
    std::string peer;                                                  ///< what `raw` is
};

/// The command line, and the rows that a program has measured so far: a Markdown table on standard output,
/// and a JSON file that is complete after every row.
class Report {
public:
    /// Options: --quick (a smoke test), --json FILE, --only TEXT (rows whose name has it), --device NAME,
    /// --limit SECONDS (for one row, then the program ends with status 124). Leaves on --help and on what
    /// it does not know.
    Report(const char* program, int argc, char** argv) : program_(program) {
        for (int i = 1; i < argc; ++i) {
            const std::string_view option = argv[i];
            const auto value = [&]() -> const char* {
                if (i + 1 == argc) usage(2);
                return argv[++i];
            };
            if (option == "--quick") quick_ = true;
            else if (option == "--json") json_ = value();
            else if (option == "--only") only_ = value();
            else if (option == "--device") device_ = value();
            else if (option == "--limit") limit_s_ = std::atof(value());
            else usage(option == "--help" ? 0 : 2);
        }
        write_json();
        deadline_ns_ = now_ns() + static_cast<std::int64_t>(limit_s_ * 1e9);
        watcher_ = std::thread([this] { watch(); });
    }
    ~Report() {
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
        }
        end_.notify_all();
        watcher_.join();
    }
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;

    bool quick() const { return quick_; }
    const std::string& device() const { return device_; }  ///< asked for with --device; empty: all
    bool wants(const std::string& name) const { return name.find(only_) != std::string::npos; }

    /// A row measured here. Errors are printed, and the next row goes on.
    void compare(const std::string& name, const std::string& device, const Side& heddle, const Peer& peer,
                 const Batches& batches = {}, const Unit& unit = in_ns) {
        if (wants(name)) attempt(name, [&] { add(measure(name, device, heddle, peer, batches, unit)); });
    }

    /// Runs `f`, which may add rows. Errors are printed, and the program goes on.
    template <class F> void attempt(const std::string& name, F&& f) {
        {
            const std::lock_guard lock(mutex_);
            doing_ = name;
        }
        deadline_ns_ = now_ns() + static_cast<std::int64_t>(limit_s_ * 1e9);
        try {
            f();
        } catch (const std::exception& error) {
            failed_ = true;
            std::fflush(stdout);
            std::fprintf(stderr, "%s: %s: %s\n", program_.c_str(), name.c_str(), error.what());
        }
    }

    /// A row measured elsewhere.
    void add(Result result) {
        if (results_.empty())
            std::printf("| what | device | heddle | raw | unit | ratio | p10 to p90 | raw is |\n"
                        "| --- | --- | ---: | ---: | --- | ---: | --- | --- |\n");
        const std::string spread = std::isnan(result.ratio_p10)
                                       ? "-"
                                       : text(result.ratio_p10, 3) + " to " + text(result.ratio_p90, 3);
        std::printf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", result.name.c_str(), result.device.c_str(),
                    text(result.heddle).c_str(), text(result.raw).c_str(), result.unit.c_str(),
                    text(result.ratio, 3).c_str(), spread.c_str(),
                    result.peer.empty() ? "-" : result.peer.c_str());
        std::fflush(stdout);
        results_.push_back(std::move(result));
        write_json();
    }

    /// The program's exit status.
    int finish() const { return failed_ ? 1 : 0; }

private:
    [[noreturn]] void usage(int status) const {
        std::fprintf(status == 0 ? stdout : stderr,
                     "usage: %s [--quick] [--json FILE] [--only TEXT] [--device NAME] [--limit SECONDS]\n",
                     program_.c_str());
        std::exit(status);
    }

    /// Ends a program that hangs; what it has measured is in its JSON file.
    void watch() {
        std::unique_lock lock(mutex_);
        while (!end_.wait_for(lock, std::chrono::milliseconds(500), [this] { return over_; })) {
            if (now_ns() < deadline_ns_) continue;
            std::fprintf(stderr, "%s: out of time in: %s\n", program_.c_str(), doing_.c_str());
            _exit(124);
        }
    }

    static double seconds_of(const Side& side, int calls) {
        if (side.prepare) side.prepare();
        const std::int64_t begin = now_ns();
        side.run(calls);
        const std::int64_t end = now_ns();
        if (side.settle) side.settle();
        return static_cast<double>(end - begin) * 1e-9 / calls;
    }

    Result measure(const std::string& name, const std::string& device, const Side& heddle, const Peer& peer,
                   const Batches& batches, const Unit& unit) const {
        const bool paired = static_cast<bool>(peer.side.run);
        const int calls = quick_ && batches.quick_calls != 0 ? batches.quick_calls : batches.calls;
        const std::size_t least = quick_ ? 2 : 5;
        const std::size_t most = std::max<std::size_t>(least, static_cast<std::size_t>(batches.pairs));
        const double budget_s = quick_ ? 0.05 : batches.seconds;
        for (int warm = 0; warm < 2; ++warm) {
            seconds_of(heddle, calls);
            if (paired) seconds_of(peer.side, calls);
        }
        std::vector<double> ours, theirs, ratios;
        const std::int64_t begin = now_ns();
        while (ours.size() < most &&
               (ours.size() < least || static_cast<double>(now_ns() - begin) * 1e-9 < budget_s)) {
            const bool first = ours.size() % 2 == 0;  // who goes first changes with every pair
            double raw = 0;
            if (paired && !first) raw = unit.figure(seconds_of(peer.side, calls));
            const double own = unit.figure(seconds_of(heddle, calls));
            if (paired && first) raw = unit.figure(seconds_of(peer.side, calls));
            ours.push_back(own);
            if (!paired) continue;
            theirs.push_back(raw);
            ratios.push_back(own / raw);
        }
        return {name,
                device,
                median(ours),
                median(theirs),
                unit.name,
                median(ratios),
                percentile(ratios, 0.1),
                percentile(ratios, 0.9),
                paired ? peer.name : ""};
    }

    /// With `digits` digits behind the point, or by default with four that mean something.
    static std::string text(double value, int digits = -1) {
        if (std::isnan(value)) return "-";
        if (digits < 0) digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
        char buffer[64];
        std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
        return buffer;
    }
    static std::string json(double value) {
        if (!std::isfinite(value)) return "null";
        char buffer[64];
        std::snprintf(buffer, sizeof buffer, "%.6g", value);
        return buffer;
    }
    static std::string json(const std::string& value) {
        std::string quoted = "\"";
        for (const char c : value) {
            if (c == '"' || c == '\\') quoted += '\\';
            quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
        return quoted + '"';
    }

    void write_json() const {
        if (json_.empty()) return;
        std::FILE* file = std::fopen(json_.c_str(), "w");
        if (file == nullptr) {
            std::perror(json_.c_str());
            std::exit(1);
        }
        const char* separator = "[";
        for (const Result& r : results_) {
            const std::string line = "{\"name\": " + json(r.name) + ", \"device\": " + json(r.device) +
                                     ", \"heddle\": " + json(r.heddle) + ", \"raw\": " + json(r.raw) +
                                     ", \"unit\": " + json(r.unit) + ", \"ratio\": " + json(r.ratio) +
                                     ", \"ratio_p10\": " + json(r.ratio_p10) +
                                     ", \"ratio_p90\": " + json(r.ratio_p90) +
                                     ", \"peer\": " + (r.peer.empty() ? "null" : json(r.peer)) + "}";
            std::fprintf(file, "%s\n  %s", separator, line.c_str());
            separator = ",";
        }
        std::fputs(results_.empty() ? "[]\n" : "\n]\n", file);
        std::fclose(file);
    }

    std::string program_, json_, only_, device_;
    bool quick_ = false;
    bool failed_ = false;
    double limit_s_ = 120;
    std::atomic<std::int64_t> deadline_ns_{0};
    std::vector<Result> results_;
    std::mutex mutex_;
    std::condition_variable end_;
    std::string doing_ = "start";  ///< this and the next under mutex_
    bool over_ = false;
    std::thread watcher_;
};

}  // namespace bench
