// What a benchmark measured, as a Markdown table and as JSON; and the options that all of them
// take.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "measure.hpp"

namespace bench {

/// The command line, and the rows that a program has measured so far: a Markdown table on standard
/// output, and a JSON file that is complete after every row.
class Report {
public:
    /// The options are those of --help. Leaves on --help, and with status 2 on what is wrong.
    Report(const char* program, int argc, char** argv) : program_(program) {
        for (int i = 1; i < argc; ++i) {
            const std::string_view option = argv[i];
            const auto value = [&]() -> const char* {
                if (i + 1 == argc) wrong(std::string(option) + " needs a value");
                return argv[++i];
            };
            if (option == "--quick") quick_ = true;
            else if (option == "--json") json_ = value();
            else if (option == "--only") only_ = value();
            else if (option == "--device") device_ = value();
            else if (option == "--limit") limit_s_ = positive(option, value());
            else if (option == "--time") time_ = positive(option, value());
            else if (option == "--help") help();
            else wrong("unknown option " + std::string(option));
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
    const std::string& only() const { return only_; }      ///< asked for with --only; empty: all
    /// Whether --only lets this row be measured.
    bool wants(const std::string& name) {
        const bool wanted = name.find(only_) != std::string::npos;
        (wanted ? some_wanted_ : some_left_out_) = true;
        return wanted;
    }

    /// A row measured here. Errors are printed, and the next row goes on.
    void compare(const std::string& name, const std::string& device, const Side& heddle,
                 const Peer& peer, const Batches& batches = {}, const Unit& unit = in_ns) {
        if (!wants(name)) return;
        Batches scaled = batches;
        scaled.seconds *= time_;
        attempt(name, [&] { add(measure(name, device, heddle, peer, scaled, unit, quick_)); });
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
            std::printf("| what | device | heddle | beside | unit | ratio | p10 to p90 | what "
                        "stands beside "
                        "|\n"
                        "| --- | --- | ---: | ---: | --- | ---: | --- | --- |\n");
        const std::string spread =
            std::isnan(result.ratio_p10)
                ? "-"
                : text(result.ratio_p10, 3) + " to " + text(result.ratio_p90, 3);
        std::printf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", result.name.c_str(),
                    result.device.c_str(), text(result.heddle).c_str(), text(result.raw).c_str(),
                    result.unit.c_str(), text(result.ratio, 3).c_str(), spread.c_str(),
                    result.peer.empty() ? "-" : result.peer.c_str());
        std::fflush(stdout);
        keep(std::move(result));
    }

    /// A row that goes to the JSON file alone.
    void keep(Result result) {
        results_.push_back(std::move(result));
        write_json();
    }

    /// The program's exit status. Tells when --only has left out every row.
    int finish() const {
        const bool none = some_left_out_ && !some_wanted_;
        std::fflush(stdout);
        if (none)
            std::fprintf(stderr, "%s: --only \"%s\" leaves out every row\n", program_.c_str(),
                         only_.c_str());
        return failed_ || none ? 1 : 0;
    }

private:
    void print_usage(std::FILE* file) const {
        std::fprintf(
            file,
            "usage: %s [--quick] [--json FILE] [--only TEXT] [--device NAME] [--limit SECONDS] "
            "[--time FACTOR]\n",
            program_.c_str());
    }
    [[noreturn]] void help() const {
        print_usage(stdout);
        std::printf(
            "\n"
            "  --quick          a smoke test: the figures mean nothing\n"
            "  --json FILE      write the rows to FILE as JSON, too\n"
            "  --only TEXT      only the rows whose name has TEXT\n"
            "  --device NAME    cpu, cuda or, with a number, cuda:1 (the first of each kind)\n"
            "  --limit SECONDS  for one row (%g); a program that takes longer is ended\n"
            "  --time FACTOR    rows take that share of their time, with fewer batches (1)\n"
            "  --help\n\n"
            "Exit status: 0; 1 when a row failed or --only leaves out every row; 2 for wrong "
            "usage;\n"
            "124 when the time for a row is over.\n",
            limit_s_);
        std::exit(0);
    }
    [[noreturn]] void wrong(const std::string& what) const {
        std::fprintf(stderr, "%s: %s\n", program_.c_str(), what.c_str());
        print_usage(stderr);
        std::exit(2);
    }
    double positive(std::string_view option, std::string_view text) const {
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() || !(value > 0))
            wrong(std::string(option) + " takes a number > 0, not \"" + std::string(text) + '"');
        return std::min(value, 1e9);  // as nanoseconds it has to fit in 64 bits
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
            const std::string line =
                "{\"name\": " + json(r.name) + ", \"device\": " + json(r.device) +
                ", \"heddle\": " + json(r.heddle) + ", \"raw\": " + json(r.raw) +
                ", \"unit\": " + json(r.unit) + ", \"ratio\": " + json(r.ratio) +
                ", \"ratio_p10\": " + json(r.ratio_p10) + ", \"ratio_p90\": " + json(r.ratio_p90) +
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
    bool some_wanted_ = false, some_left_out_ = false;
    double limit_s_ = 120;
    double time_ = 1;
    std::atomic<std::int64_t> deadline_ns_{0};
    std::vector<Result> results_;
    std::mutex mutex_;
    std::condition_variable end_;
    std::string doing_ = "start";  ///< this and the next under mutex_
    bool over_ = false;
    std::thread watcher_;
};

}  // namespace bench
