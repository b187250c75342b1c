// What a benchmark measured, as a Markdown table and as JSON.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "harness/options.hpp"
#include "measure.hpp"

namespace bench {

/// The command line, and the rows that a program has measured so far: a Markdown table on standard
/// output, and a JSON file that is complete after every row.
class Report {
public:
    /// The options are those of --help. Leaves on --help, and with status 2 on what is wrong.
    Report(const char* program, int argc, char** argv);
    ~Report();
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;

    bool quick() const { return options_.quick; }
    /// Asked for with --device; empty: all.
    const std::string& device() const { return options_.device; }
    /// Asked for with --only; empty: all.
    const std::string& only() const { return options_.only; }
    /// Whether --only lets this row be measured.
    bool wants(const std::string& name);

    /// A row measured here. Errors are printed, and the next row goes on.
    void compare(const std::string& name, const std::string& device, const Side& heddle,
                 const Peer& peer, const Batches& batches = {}, const Unit& unit = in_ns);

    /// Runs `f`, which may add rows. Errors are printed, and the program goes on.
    template <class F> void attempt(const std::string& name, F&& f) {
        begin(name);
        try {
            f();
        } catch (const std::exception& error) {
            failed(name, error);
        }
    }

    /// A row measured elsewhere.
    void add(Result result);
    /// A row that goes to the JSON file alone.
    void keep(Result result);

    /// The program's exit status. Tells when --only has left out every row.
    int finish() const;

private:
    void begin(const std::string& name);
    void failed(const std::string& name, const std::exception& error);
    void watch();
    void write_json() const;

    std::string program_;
    Options options_;
    bool failed_ = false;
    bool some_wanted_ = false, some_left_out_ = false;
    std::atomic<std::int64_t> deadline_ns_{0};
    std::vector<Result> results_;
    std::mutex mutex_;
    std::condition_variable end_;
    std::string doing_;  ///< this and the next under mutex_
    bool over_ = false;
    std::thread watcher_;
};

}  // namespace bench
