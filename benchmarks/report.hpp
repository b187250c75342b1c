// Writes the results of a benchmark, as a Markdown table and as JSON.
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

/// The command line, and the rows measured so far. Prints a Markdown table to standard output. Also
/// writes a JSON file, which is complete after each row.
class Report {
public:
    /// Parses the command line. Exits on --help, and with status 2 on wrong usage.
    Report(const char* program, int argc, char** argv);
    ~Report();
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;

    bool quick() const { return options_.quick; }
    /// Returns the value of --device. It is empty for all devices.
    const std::string& device() const { return options_.device; }
    /// Returns the value of --only. It is empty for all rows.
    const std::string& only() const { return options_.only; }
    /// Returns whether --only includes this row.
    bool wants(const std::string& name);

    /// Measures a row. If that fails, prints the error and continues with the next row.
    void compare(const std::string& name, const std::string& device, const Side& heddle,
                 const Peer& peer, const Batches& batches = {}, const Unit& unit = in_ns);

    /// Runs `f`, which may add rows. If it fails, prints the error and continues.
    template <class F> void attempt(const std::string& name, F&& f) {
        begin(name);
        try {
            f();
        } catch (const std::exception& error) {
            failed(name, error);
        }
    }

    /// Adds a row that was measured elsewhere.
    void add(Result result);
    /// Adds a row to the JSON file, but not to the table.
    void keep(Result result);

    /// Returns the exit status of the program. If --only excluded every row, prints a message.
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
    std::string doing_;  ///< mutex_ guards this member and the next one
    bool over_ = false;
    std::thread watcher_;
};

}  // namespace bench
